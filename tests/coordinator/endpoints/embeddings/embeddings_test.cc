// Requests to /v1/embeddings, from the body to the response.

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/embeddings/embeddings_endpoint.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/embeddings/embedding_server.h"

namespace scorecast::coordinator {
namespace embeddings_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Server : EmbeddingServer {
  OrderedJson Answer(const std::string& body) const {
    return ValueOrFail(EmbeddingServer::Respond(EmbeddingsEndpoint(), body));
  }
  std::string Fault(const std::string& body) const {
    return EmbeddingServer::FaultOf(EmbeddingsEndpoint(), body);
  }
  std::vector<float> First(const std::string& body) const {
    return FloatsOf(Answer(body)["data"][0]["embedding"]);
  }
};

TEST(Embeddings, TheResponseIsThatOfOpenAi) {
  const Server server;
  const OrderedJson response =
      server.Answer(R"({"model":"m","input":["ab","c"],"user":"me","encoding_format":"float"})");
  EXPECT_EQ(response["object"], "list");
  EXPECT_EQ(response["model"], "the-model");
  EXPECT_EQ(response["usage"].dump(), R"({"prompt_tokens":7,"total_tokens":7})")
      << "special tokens count";
  ASSERT_EQ(response["data"].size(), 2U);
  EXPECT_EQ(response["data"][1]["object"], "embedding");
  EXPECT_EQ(response["data"][1]["index"], 1);
  EXPECT_EQ(FloatsOf(response["data"][0]["embedding"]), server.VectorOfText("ab"));
  EXPECT_EQ(FloatsOf(response["data"][1]["embedding"]), server.VectorOfText("c"));
}

TEST(Embeddings, AnInputMayHaveManyForms) {
  const Server server;
  const std::vector<float> of_text = server.VectorOfText("ab");
  EXPECT_EQ(server.First(R"({"input":"ab"})"), of_text);
  EXPECT_EQ(server.First(R"({"input":[{"text":"ab"}]})"), of_text);
  EXPECT_EQ(server.First(R"({"input":[259,97,98,0]})"), of_text);
  EXPECT_EQ(server.First(R"({"input":[[259,97,98,0],[1]]})"), of_text);
  // Nothing is added to ids.
  EXPECT_EQ(server.First(R"({"input":[97,98]})"), server.VectorOf({97, 98}));
  EXPECT_EQ(server.Answer(R"({"input":[97,98]})")["usage"]["prompt_tokens"], 2);
}

using Prompts = std::vector<EmbeddingPrompts::Prompt>;

TEST(Embeddings, EachTextIsASequenceWhoseRowsArePooled) {
  const Server server;
  const auto prepared =
      ValueOrFail(server.Prepare(EmbeddingsEndpoint(), R"({"input":["ab",[7]]})"));
  ASSERT_EQ(prepared.sequences.size(), 2U);
  const proto::PackedSequence& text = prepared.sequences[0];
  EXPECT_THAT(text.tokens, ElementsAre(259, 'a', 'b', 0));
  EXPECT_THAT(text.segments, ElementsAre(proto::Segment{proto::SegmentKind::kPrefix, 4, 0}));
  EXPECT_THAT(text.reads, ElementsAre(proto::RowRead{.row = 3, .first_row = 0}));
  EXPECT_THAT(prepared.sequences[1].tokens, ElementsAre(7));
}

TEST(Embeddings, AMessageGetsAMessage) {
  const Server server;
  v1::Request request;
  v1::EmbeddingsRequest& embeddings = *request.mutable_embeddings();
  embeddings.add_input()->set_text("ab");
  embeddings.add_input()->mutable_ids()->add_ids(7);
  const auto prepared = ValueOrFail(
      PrepareParsed(EmbeddingsEndpoint().FromMessage(std::move(request)), server.context()));
  const auto response = ValueOrFail(prepared.readout->Respond(server.Compute(prepared.sequences)));
  const auto& message = static_cast<const v1::EmbeddingsResponse&>(response->message());
  ASSERT_EQ(message.data_size(), 2);
  EXPECT_EQ(std::vector<float>(message.data(0).values().begin(), message.data(0).values().end()),
            server.VectorOfText("ab"));
  EXPECT_EQ(message.data(1).index(), 1);
}

TEST(Embeddings, EmptyInputsAreRefused) {
  const Server server;
  EXPECT_EQ(server.Fault(R"({"input":""})"), "empty_input input");
  EXPECT_EQ(server.Fault(R"({"input":[]})"), "empty_input input");
  EXPECT_EQ(server.Fault(R"({"input":[""]})"), "empty_input input");
  EXPECT_EQ(server.Fault(R"({"input":["a",""]})"), "empty_input input[1]");
  EXPECT_EQ(server.Fault(R"({"input":[[1],[]]})"), "empty_input input[1]");
  EXPECT_EQ(server.Fault(R"({})"), "missing_field input");
  EXPECT_EQ(server.Fault(R"({"input":[1.5]})"), "wrong_type input[0]");
  EXPECT_EQ(server.Fault(R"({"input":[{"image":"x"}]})"), "wrong_type input[0]");
  EXPECT_EQ(server.Fault(R"({"input":["a",[400]]})"), "token_out_of_vocabulary input[1]");
}

TEST(Embeddings, VectorsHaveTheEncodingThatIsAskedFor) {
  const Server server;
  const std::vector<float> vector = server.VectorOfText("ab");
  const auto encoded = [&](const std::string& field) {
    return server.Answer(R"({"input":"ab",)" + field + "}")["data"][0]["embedding"];
  };
  EXPECT_EQ(encoded(R"("encoding_format":"base64")"), Base64Of(vector));
  EXPECT_EQ(encoded(R"("embedding_type":"base64")"), Base64Of(vector));
  EXPECT_EQ(encoded(R"("embedding_type":"binary")"), OrderedJson(PackedBits(vector, true)));
  EXPECT_EQ(encoded(R"("embedding_type":"ubinary")"), OrderedJson(PackedBits(vector, false)));
  EXPECT_EQ(server.Fault(R"({"input":"ab","encoding_format":"int8"})"),
            "unknown_encoding encoding_format");
  EXPECT_EQ(server.Fault(R"({"input":"ab","embedding_type":"int8"})"),
            "unknown_encoding embedding_type");
  EXPECT_EQ(server.Fault(R"({"input":"ab","embedding_type":"binary","dimensions":12})"),
            "dimensions_not_divisible embedding_type");
}

TEST(Embeddings, VoyagesTypeOfValuesGoesWithBase64) {
  const Server server;
  const std::vector<float> vector = server.VectorOfText("ab");
  const auto encoded = [&](const std::string& field) {
    return server.Answer(R"({"input":"ab",)" + field + "}")["data"][0]["embedding"];
  };
  EXPECT_EQ(encoded(R"("output_dtype":"float","encoding_format":"base64")"), Base64Of(vector));
  EXPECT_EQ(encoded(R"("output_dtype":"ubinary")"), OrderedJson(PackedBits(vector, false)));
  EXPECT_EQ(encoded(R"("output_dtype":"binary","encoding_format":"base64")"),
            Base64Of(PackedBits(vector, true)));
  EXPECT_EQ(server.Fault(R"({"input":"ab","output_dtype":"int8"})"),
            "unknown_encoding output_dtype");
  EXPECT_EQ(server.Fault(R"({"input":"ab","output_dtype":"float","encoding_format":"binary"})"),
            "given_twice output_dtype");
  EXPECT_EQ(server.Fault(R"({"input":"ab","output_dtype":"binary","output_dimension":12})"),
            "dimensions_not_divisible output_dtype");
  EXPECT_EQ(server.First(R"({"input":"ab","output_dimension":8})").size(), 8U);
  EXPECT_EQ(server.First(R"({"input":"ab","output_dimension":8,"dimensions":8})").size(), 8U);
  EXPECT_EQ(server.Fault(R"({"input":"ab","output_dimension":8,"dimensions":7})"),
            "given_twice output_dimension");
  EXPECT_EQ(server.Fault(R"({"input":"ab","output_dimension":17})"),
            "dimensions_out_of_range output_dimension");
  EXPECT_EQ(server.Fault(R"({"input":"ab","modality":"image"})"), "not_supported modality");
}

TEST(Embeddings, NvidiasTruncateNamesTheEnd) {
  Server server;
  server.config_.max_position_embeddings = 5;
  const auto vector = [&](const std::string& field) {
    return server.First(R"({"input":"abcd",)" + field + "}");
  };
  EXPECT_EQ(vector(R"("truncate":"END")"), server.VectorOfText("abc"));
  EXPECT_EQ(vector(R"("truncate":"start")"), server.VectorOfText("bcd"));
  EXPECT_EQ(vector(R"("truncate":"True")"), server.VectorOfText("abc"));
  EXPECT_EQ(vector(R"("truncation":true)"), server.VectorOfText("abc"));
  const auto fault = [&](const std::string& field) {
    return server.Fault(R"({"input":"abcd",)" + field + "}");
  };
  EXPECT_EQ(fault(R"("truncate":"NONE")"), "context_length_exceeded input");
  EXPECT_EQ(fault(R"("truncation":false)"), "context_length_exceeded input");
  EXPECT_EQ(fault(R"("truncate":"MIDDLE")"), "unknown_truncate truncate");
  EXPECT_EQ(fault(R"("truncate":7)"), "wrong_type truncate");
  EXPECT_EQ(fault(R"("truncate":"END","truncation_direction":"left")"),
            "given_twice truncation_direction");
}

TEST(Embeddings, VoyagesOwnUrlCutsUnlessItIsToldOtherwise) {
  Server server;
  server.config_.max_position_embeddings = 5;
  const auto first = [&](const std::string& body) {
    const OrderedJson response = ValueOrFail(server.Respond(VoyageEmbeddingsEndpoint(), body));
    return FloatsOf(response["data"][0]["embedding"]);
  };
  EXPECT_EQ(first(R"({"input":"abcd"})"), server.VectorOfText("abc"));
  EXPECT_EQ(first(R"({"input":"abcd","truncate":"START"})"), server.VectorOfText("bcd"));
  EXPECT_EQ(server.FaultOf(VoyageEmbeddingsEndpoint(), R"({"input":"abcd","truncation":false})"),
            "context_length_exceeded input");
  const OrderedJson error = OrderedJson::parse(
      VoyageEmbeddingsEndpoint().ErrorToJson({400, "empty_input", "It is empty.", "input"}));
  EXPECT_EQ(error["detail"], "It is empty.");
  EXPECT_EQ(error["error"], "It is empty.");
}

TEST(Embeddings, ATextMayBeThePrompt) {
  Server server;
  server.options_.embedder.prompts = EmbeddingPrompts(Prompts{{"query", "Q:"}}, "query");
  EXPECT_EQ(server.First(R"({"input":"ab","prompt":"S:"})"), server.VectorOfText("S:ab"));
  EXPECT_EQ(server.First(R"({"input":"ab","prompt":""})"), server.VectorOfText("ab"));
  EXPECT_EQ(server.Fault(R"({"input":"ab","prompt":"S:","input_type":"query"})"),
            "prompt_given_twice prompt");
}

TEST(Embeddings, FewerDimensionsAreNormalisedAgain) {
  Server server;
  std::vector<float> cut = server.VectorOfText("ab");
  cut.resize(5);
  EXPECT_EQ(server.First(R"({"input":"ab","dimensions":5,"normalized":false})"), cut);
  Normalize(cut);
  EXPECT_EQ(server.First(R"({"input":"ab","dimensions":5})"), cut);
  EXPECT_EQ(server.First(R"({"input":"ab","dimensions":16})"), server.VectorOfText("ab"));
  EXPECT_EQ(server.Fault(R"({"input":"ab","dimensions":17})"),
            "dimensions_out_of_range dimensions");
  EXPECT_EQ(server.Fault(R"({"input":"ab","dimensions":0})"), "dimensions_out_of_range dimensions");

  server.config_.read_head->normalize = true;
  cut = server.VectorOfText("ab");
  cut.resize(5);
  Normalize(cut);
  EXPECT_EQ(server.First(R"({"input":"ab","dimensions":5})"), cut);
}

TEST(Embeddings, AVectorIsNormalisedIfTheClientOrTheModelSaysSo) {
  Server server;
  std::vector<float> vector = server.VectorOfText("ab");
  EXPECT_EQ(server.First(R"({"input":"ab"})"), vector);
  EXPECT_EQ(server.First(R"({"input":"ab","normalized":false})"), vector);
  Normalize(vector);
  EXPECT_EQ(server.First(R"({"input":"ab","normalized":true})"), vector);
  EXPECT_EQ(server.First(R"({"input":"ab","normalize":true})"), vector);
  // Not twice: its bits are those of the model.
  server.config_.read_head->normalize = true;
  EXPECT_EQ(server.First(R"({"input":"ab","normalized":true})"), server.VectorOfText("ab"));
  EXPECT_EQ(server.First(R"({"input":"ab","normalized":false})"),
            server.VectorOf({259, 'a', 'b', 0}, 0, /*keeps_length=*/true));
}

TEST(Embeddings, PromptsArePutBeforeTexts) {
  Server server;
  server.options_.embedder.prompts = EmbeddingPrompts(Prompts{{"query", "Q:"}, {"STS", "S:"}});
  const auto vector = [&](const std::string& field) {
    return server.First(R"({"input":"ab",)" + field + "}");
  };
  for (const char* field : {R"("prompt_name":"query")", R"("input_type":"search_query")",
                            R"("task":"retrieval.query")"}) {
    EXPECT_EQ(vector(field), server.VectorOfText("Q:ab")) << field;
  }
  EXPECT_EQ(vector(R"("task":"STS")"), server.VectorOfText("S:ab"));
  // The model has no prompt for documents, and clients always name one.
  EXPECT_EQ(vector(R"("input_type":"search_document")"), server.VectorOfText("ab"));
  EXPECT_EQ(server.First(R"({"input":[97,98],"task":"STS"})"), server.VectorOf({97, 98}));
  const auto refused = server.Respond(EmbeddingsEndpoint(), R"({"input":"a","task":"other"})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().param, "task");
  EXPECT_EQ(refused.error().message, "The model has no prompt \"other\". It has: query, STS.");

  server.options_.embedder.prompts =
      EmbeddingPrompts(Prompts{{"query", "Q:"}, {"STS", "S:"}}, "STS");
  EXPECT_EQ(server.First(R"({"input":"ab"})"), server.VectorOfText("S:ab"));
  server.options_.embedder.prompts = {};
  EXPECT_EQ(vector(R"("task":"classification")"), server.VectorOfText("ab"));
  EXPECT_EQ(server.Fault(R"({"input":"a","task":"other"})"), "unknown_prompt task");
}

TEST(Embeddings, TheRowsOfAPromptMayBeLeftOut) {
  Server server;
  server.options_.embedder.prompts = EmbeddingPrompts(Prompts{{"query", "Q:"}});
  server.options_.embedder.pools_prompt = false;
  // As in sentence-transformers, the end of a text counts as the prompt's unless it is a special
  // token, which this tokenizer does not have.
  EXPECT_EQ(server.First(R"({"input":"ab","task":"query"})"),
            server.VectorOf({259, 'Q', ':', 'a', 'b', 0}, /*first_row=*/4));
  EXPECT_EQ(server.First(R"({"input":"ab"})"), server.VectorOfText("ab"));
}

TEST(Embeddings, LongTextsAreCutIfTheClientSaysSo) {
  Server server;
  server.config_.max_position_embeddings = 6;
  const auto refused = server.Respond(EmbeddingsEndpoint(), R"({"input":["a","abcde"]})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, 400);
  EXPECT_EQ(refused.error().param, "input[1]");
  EXPECT_EQ(
      refused.error().message,
      "This model's maximum context length is 6 tokens, but input[1] has 7. To have texts cut, "
      "set truncate.");
  EXPECT_EQ(server.Respond(EmbeddingsEndpoint(), R"({"input":[1,2,3,4,5,6,7],"truncation":false})")
                .error()
                .message,
            "This model's maximum context length is 6 tokens, but input has 7. To have texts cut, "
            "set truncation.");
  EXPECT_EQ(server.First(R"({"input":"abcd"})"), server.VectorOfText("abcd"));
  EXPECT_EQ(server.First(R"({"input":"abcde","truncate":true})"), server.VectorOfText("abcd"));
  EXPECT_EQ(server.First(R"({"input":"abcde","truncate":true,"truncation_side":"left"})"),
            server.VectorOfText("bcde"));
  EXPECT_EQ(server.First(R"({"input":"abcde","truncate_prompt_tokens":4})"),
            server.VectorOfText("ab"));
  EXPECT_EQ(server.Respond(EmbeddingsEndpoint(), R"({"input":"abcde","truncate_prompt_tokens":1})")
                .error()
                .message,
            "input cannot be cut to 1 token: 2 or more are left.");
  EXPECT_EQ(server.First(R"({"input":"abcde","truncate_prompt_tokens":-1})"),
            server.VectorOfText("abcd"));
  EXPECT_EQ(server.First(R"({"input":[1,2,3,4,5,6,7],"truncate":true})"),
            server.VectorOf({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(server.Fault(R"({"input":[1,2,3,4,5,6,7]})"), "context_length_exceeded input");
  EXPECT_EQ(server.Fault(R"({"input":"a","truncation_direction":"up"})"),
            "unknown_truncation_direction truncation_direction");
  EXPECT_EQ(server.Fault(R"({"input":"a","truncate_prompt_tokens":0})"),
            "truncate_prompt_tokens_out_of_range truncate_prompt_tokens");
  server.options_.max_text_tokens = 5;
  EXPECT_EQ(server.First(R"({"input":"abcde","truncate":true})"), server.VectorOfText("abc"));
}

TEST(Embeddings, AModelMaySayWhichEndIsCut) {
  Server server;
  server.config_.max_position_embeddings = 6;
  server.with_bos_.SetRules({.truncation_side = TruncationSide::kLeft});
  EXPECT_EQ(server.First(R"({"input":"abcde","truncate":true})"), server.VectorOfText("bcde"));
  EXPECT_EQ(server.First(R"({"input":"abcde","truncate_prompt_tokens":4})"),
            server.VectorOfText("de"));
  EXPECT_EQ(server.First(R"({"input":[1,2,3,4,5,6,7],"truncate":true})"),
            server.VectorOf({2, 3, 4, 5, 6, 7}));
  for (const std::string right :
       {R"("truncate":true,"truncation_side":"right")", R"("truncate":"END")"}) {
    EXPECT_EQ(server.First(R"({"input":"abcde",)" + right + "}"), server.VectorOfText("abcd"));
  }
}

TEST(Embeddings, TheResponseHasNoMoreBytesThanItsBound) {
  const Server server;
  for (const char* format : {"float", "base64", "binary", "ubinary"}) {
    for (const std::string input : {R"("a")", R"(["a","b","c","d","e","f"])"}) {
      const std::string body = R"({"input":)" + input + R"(,"encoding_format":")" + format + "\"}";
      auto parsed = EmbeddingsEndpoint().FromJson(ValueOrFail(ParseJson(body, 100)));
      ASSERT_TRUE(parsed.has_value());
      const std::int64_t bound = (*parsed)->ResponseBytesBound(server.config_);
      EXPECT_LE(static_cast<std::int64_t>(server.Answer(body).dump().size()), 3 * bound) << body;
    }
  }
}

TEST(Embeddings, AVectorThatIsNotFiniteIsAnError) {
  const Server server;
  auto prepared = ValueOrFail(server.Prepare(EmbeddingsEndpoint(), R"({"input":["a","b"]})"));
  JobRows rows = server.Compute(prepared.sequences);
  rows[1][0].embedding[3] = std::numeric_limits<float>::quiet_NaN();
  const auto response = prepared.readout->Respond(rows);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, 500);
  EXPECT_EQ(response.error().param, "input[1]");
}

TEST(Embeddings, ErrorsAreNested) {
  const OrderedJson body = OrderedJson::parse(
      EmbeddingsEndpoint().ErrorToJson({400, "empty_input", "input must not be empty.", "input"}));
  EXPECT_EQ(body.dump(),
            R"({"error":{"message":"input must not be empty.","type":"invalid_request_error",)"
            R"("param":"input","code":"empty_input"},"detail":"input must not be empty."})");
}

TEST(Embeddings, WhatCannotBeDoneIsRefusedByName) {
  const Server server;
  EXPECT_EQ(server.Fault(R"({"input":"a","late_chunking":true})"), "not_supported late_chunking");
  EXPECT_EQ(server.Fault(R"({"input":"a","late_chunking":false})"), "none");
}

TEST(Embeddings, TextsMayBeMessages) {
  Server server;
  server.options_.messages = MakeMessages(*server.tokenizer_);
  server.options_.embedder.prompts = EmbeddingPrompts(Prompts{{"query", "find"}, {"document", ""}});
  server.options_.embedder.pools_prompt = false;
  const auto rendered = [&](const std::string& text) {
    return server.VectorOf(server.tokenizer_->Encode(text));
  };
  EXPECT_EQ(server.First(R"({"input":"ab"})"), rendered("[user:ab]"));
  EXPECT_EQ(server.First(R"({"input":"ab","prompt_name":"document"})"), rendered("[user:ab]"));
  EXPECT_EQ(server.First(R"({"input":"ab","prompt_name":"query"})"),
            rendered("[system:find][user:ab]"));
  EXPECT_EQ(server.First(R"({"input":"ab","prompt":"why"})"), rendered("[system:why][user:ab]"));
  EXPECT_EQ(server.First(R"({"input":[97,98]})"), server.VectorOf({97, 98})) << "ids are none";
  EXPECT_EQ(server.First(R"({"input":"abcdef","truncate_prompt_tokens":10})"),
            rendered("[user:abc]"))
      << "the template's end is written back";
  EXPECT_EQ(server.Fault(R"({"input":")" + std::string(60, 'a') + "\"}"),
            "context_length_exceeded input");
  server.options_.messages =
      MakeMessages(*server.tokenizer_, "{{ raise_exception('no ' + messages[0].content) }}");
  const auto refused = server.Prepare(EmbeddingsEndpoint(), R"({"input":["a"]})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "not_rendered");
  EXPECT_EQ(refused.error().message, "The chat template cannot render input: \"no a\".");
}

TEST(Embeddings, QueriesAndDocumentsMayHaveLimitsOfTheirOwn) {
  Server server;
  server.options_.transformer.query_length = 5;
  server.options_.transformer.document_length = 6;
  const auto text_of = [&](const std::string& fields) {
    const auto prepared = ValueOrFail(server.Prepare(
        EmbeddingsEndpoint(), R"({"input":"abcdefgh","truncate":true)" + fields + "}"));
    return server.tokenizer_->Decode(prepared.sequences[0].tokens);
  };
  const auto whole = [&](const std::string& text) {
    return server.tokenizer_->Decode(server.tokenizer_->EncodeWithAdded(text));
  };
  EXPECT_EQ(text_of(""), whole("abcdefgh"));
  EXPECT_EQ(text_of(R"(,"input_type":"query")"), whole("abc"));
  EXPECT_EQ(text_of(R"(,"task":"retrieval.query")"), whole("abc"));
  EXPECT_EQ(text_of(R"(,"input_type":"document")"), whole("abcd"));
  EXPECT_EQ(text_of(R"(,"prompt_name":"query")"), whole("abcdefgh"))
      << "the name of a prompt does not say what the text is for";
  EXPECT_EQ(text_of(R"(,"input_type":"query","truncate_prompt_tokens":7)"), whole("abcde"))
      << "the request's own limit";
  EXPECT_EQ(server.Fault(R"({"input":"abcdefgh","input_type":"query"})"),
            "context_length_exceeded input");
  EXPECT_EQ(server.First(R"({"input":[1,2,3,4,5,6,7],"input_type":"query"})"),
            server.VectorOf({1, 2, 3, 4, 5, 6, 7}))
      << "ids are taken as they are";
}

TEST(Embeddings, TheTokenizerMayAddNothing) {
  Server server;
  server.options_.transformer.adds_tokens = false;
  server.options_.embedder.prompts = EmbeddingPrompts(Prompts{{"query", "q:"}});
  EXPECT_EQ(server.First(R"({"input":"ab"})"), server.VectorOf(server.tokenizer_->Encode("ab")));
  EXPECT_EQ(server.First(R"({"input":"ab","prompt_name":"query"})"),
            server.VectorOf(server.tokenizer_->Encode("q:ab")));
}

}  // namespace embeddings_test
}  // namespace scorecast::coordinator
