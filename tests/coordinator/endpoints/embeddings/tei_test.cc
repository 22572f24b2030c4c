// Requests of text-embeddings-inference's clients, from the body to the response.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/tei/tei_endpoints.h"
#include "tests/coordinator/endpoints/embeddings/embedding_server.h"

namespace scorecast::coordinator {
namespace tei_test {

std::vector<float> Normalized(std::vector<float> vector) {
  Normalize(vector);
  return vector;
}

TEST(TeiEmbed, ReturnsAListOfVectors) {
  const EmbeddingServer server;
  const auto answer = [&](const std::string& body) {
    return ValueOrFail(server.Respond(TeiEmbedEndpoint(), body));
  };
  const OrderedJson two = answer(R"({"inputs":["ab","c"],"normalize":false})");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(FloatsOf(two[0]), server.VectorOfText("ab"));
  EXPECT_EQ(FloatsOf(two[1]), server.VectorOfText("c"));
  const OrderedJson one = answer(R"({"inputs":"ab"})");
  ASSERT_EQ(one.size(), 1U) << "a text alone gets a list, too";
  EXPECT_EQ(FloatsOf(one[0]), Normalized(server.VectorOfText("ab")));
  EXPECT_EQ(FloatsOf(answer(R"({"inputs":[1,2],"normalize":false})")[0]), server.VectorOf({1, 2}));
  EXPECT_EQ(FloatsOf(answer(R"({"inputs":"ab","dimensions":3,"normalize":false})")[0]).size(), 3U);
}

TEST(TeiEmbed, ATextThatIsTooLongIsA413UnlessItIsCut) {
  EmbeddingServer server;
  server.config_.max_position_embeddings = 5;
  const auto refused = server.Respond(TeiEmbedEndpoint(), R"({"inputs":["a","abcd"]})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, 413);
  EXPECT_EQ(refused.error().param, "inputs[1]");
  const OrderedJson cut = ValueOrFail(server.Respond(
      TeiEmbedEndpoint(),
      R"({"inputs":"abcd","truncate":true,"truncation_direction":"Left","normalize":false})"));
  EXPECT_EQ(FloatsOf(cut[0]), server.VectorOfText("bcd"));
  server.with_bos_.SetRules({.truncation_side = TruncationSide::kLeft});
  const OrderedJson left = ValueOrFail(
      server.Respond(TeiEmbedEndpoint(), R"({"inputs":"abcd","truncate":true,"normalize":false})"));
  EXPECT_EQ(FloatsOf(left[0]), server.VectorOfText("bcd"));
}

TEST(TeiEmbed, EmptyInputsAreRefused) {
  const EmbeddingServer server;
  EXPECT_EQ(server.FaultOf(TeiEmbedEndpoint(), R"({"inputs":[]})"), "empty_input inputs");
  EXPECT_EQ(server.FaultOf(TeiEmbedEndpoint(), R"({"inputs":["a",""]})"), "empty_input inputs[1]");
}

TEST(TeiEmbed, ErrorsHaveItsFields) {
  const OrderedJson body = OrderedJson::parse(
      TeiEmbedEndpoint().ErrorToJson({413, "context_length_exceeded", "It is long.", "inputs"}));
  EXPECT_EQ(body["error"], "It is long.");
  EXPECT_EQ(body["error_type"], "validation");
}

TEST(PineconeEmbed, ReturnsValuesWithTheirType) {
  EmbeddingServer server;
  const char* const body = R"({"model":"m","inputs":[{"text":"ab"},"c"],"parameters":{}})";
  for (const Endpoint* endpoint : {&TeiEmbedEndpoint(), &PineconeEmbedEndpoint()}) {
    const OrderedJson answer = ValueOrFail(server.Respond(*endpoint, body));
    EXPECT_EQ(answer["vector_type"], "dense");
    ASSERT_EQ(answer["data"].size(), 2U);
    EXPECT_EQ(FloatsOf(answer["data"][0]["values"]), server.VectorOfText("ab"));
    EXPECT_EQ(FloatsOf(answer["data"][1]["values"]), server.VectorOfText("c"));
    EXPECT_EQ(answer["data"][1]["vector_type"], "dense");
    EXPECT_TRUE(answer["usage"]["total_tokens"].is_number_integer());
  }
  EXPECT_EQ(
      ValueOrFail(server.Respond(PineconeEmbedEndpoint(), R"({"inputs":["a"]})"))["data"].size(),
      1U);
}

TEST(PineconeEmbed, ParametersSayHowTextsAreEmbedded) {
  EmbeddingServer server;
  server.config_.max_position_embeddings = 5;
  server.options_.embedder.prompts = Prompts({{"query", "Q"}});
  const auto first = [&](const std::string& parameters) {
    return FloatsOf(ValueOrFail(server.Respond(
        TeiEmbedEndpoint(),
        R"({"inputs":["abcd"],"parameters":{)" + parameters + "}}"))["data"][0]["values"]);
  };
  EXPECT_EQ(first(R"("truncate":"START")"), server.VectorOfText("bcd"));
  EXPECT_EQ(first(""), server.VectorOfText("abc"));
  EXPECT_EQ(first(R"("input_type":"query")"), server.VectorOfText("Qab"));
  EXPECT_EQ(first(R"("dimension":4)").size(), 4U);
  const auto fault = [&](const std::string& parameters) {
    return server.FaultOf(TeiEmbedEndpoint(),
                          R"({"inputs":["abcd"],"parameters":{)" + parameters + "}}");
  };
  EXPECT_EQ(fault(R"("truncate":"NONE")"), "context_length_exceeded inputs");
  EXPECT_EQ(fault(R"("truncate":"MIDDLE")"), "unknown_truncate parameters.truncate");
  EXPECT_EQ(fault(R"("input_type":"other")"), "unknown_prompt parameters.input_type");
  EXPECT_EQ(fault(R"("dimension":17)"), "dimensions_out_of_range parameters.dimension");
  EXPECT_EQ(fault(R"("return_tokens":true)"), "unknown_field parameters.return_tokens");
  EXPECT_EQ(server.FaultOf(PineconeEmbedEndpoint(), R"({"inputs":["a"],"vector_type":"sparse"})"),
            "not_supported vector_type");
  EXPECT_EQ(server.FaultOf(PineconeEmbedEndpoint(), R"({"inputs":[]})"), "empty_input inputs");
  EXPECT_EQ(
      server.FaultOf(TeiEmbedEndpoint(), R"({"inputs":["a"],"parameters":{},"dimensions":3})"),
      "not_supported dimensions");
}

TEST(TeiEmbedAll, ReturnsTheVectorsOfAllTokens) {
  const EmbeddingServer server;
  const OrderedJson answer =
      ValueOrFail(server.Respond(TeiEmbedAllEndpoint(), R"({"inputs":["ab","c"]})"));
  ASSERT_EQ(answer.size(), 2U);
  ASSERT_EQ(answer[0].size(), 4U) << "special tokens count";
  ASSERT_EQ(answer[1].size(), 3U);
  EXPECT_EQ(FloatsOf(answer[0][1]), server.VectorOf({259, 'a'}, /*first_row=*/1));
  EXPECT_EQ(ValueOrFail(server.Respond(TeiEmbedAllEndpoint(), R"({"inputs":"c"})")).size(), 1U);
}

TEST(TeiEmbedAll, AllRowsAreReadAsTheyAre) {
  const EmbeddingServer server;
  const auto prepared = ValueOrFail(server.Prepare(TeiEmbedAllEndpoint(), R"({"inputs":"a"})"));
  ASSERT_EQ(prepared.sequences.size(), 1U);
  const std::vector<proto::RowRead>& reads = prepared.sequences[0].reads;
  ASSERT_EQ(reads.size(), 3U);
  for (std::int32_t row = 0; row < 3; ++row) {
    EXPECT_EQ(reads[static_cast<std::size_t>(row)],
              (proto::RowRead{.row = row, .first_row = row, .raw = true}));
  }
}

TEST(TeiEmbedAll, ALongPromptBeforeManyShortTextsIsRefused) {
  EmbeddingServer server;
  server.config_.max_position_embeddings = 512;
  server.limits_.max_rows = 1024;
  server.options_.embedder.prompts = Prompts({{"query", std::string(200, 'p')}});
  EXPECT_EQ(server.FaultOf(TeiEmbedAllEndpoint(), R"({"inputs":"a","prompt_name":"query"})"),
            "answer_too_large inputs");
}

TEST(TeiSimilarity, ComparesVectorsAsTheModelDoes) {
  EmbeddingServer server;
  const auto answer = [&](const std::string& parameters) {
    return FloatsOf(ValueOrFail(server.Respond(
        TeiSimilarityEndpoint(),
        R"({"inputs":{"source_sentence":"ab","sentences":["c","ab"]})" + parameters + "}")));
  };
  const auto similarity = [&](const std::string& a, const std::string& b) {
    return static_cast<float>(SimilarityOf(server.options_.embedder.similarity,
                                           server.VectorOfText(a), server.VectorOfText(b)));
  };
  EXPECT_EQ(answer(""), (std::vector<float>{similarity("ab", "c"), 1.0F}));
  server.options_.embedder.prompts = Prompts({{"query", "Q:"}});
  EXPECT_EQ(answer(R"(,"parameters":{"prompt_name":"query"})"),
            (std::vector<float>{similarity("Q:ab", "Q:c"), 1.0F}));
  server.options_.embedder = {.prompts = {}, .similarity = Similarity::kDot};
  EXPECT_EQ(answer(""), (std::vector<float>{similarity("ab", "c"), similarity("ab", "ab")}));
  EXPECT_GT(similarity("ab", "ab"), 2);
  EXPECT_EQ(server.FaultOf(TeiSimilarityEndpoint(),
                           R"({"inputs":{"source_sentence":"ab","sentences":[]}})"),
            "empty_input inputs.sentences");
  EXPECT_EQ(server.FaultOf(TeiSimilarityEndpoint(), R"({"inputs":{"sentences":["a"]}})"),
            "missing_field inputs.source_sentence");
}

/// A classifier with two classes, whose logits are the first two values of the "model".
struct ClassifyingServer : EmbeddingServer {
  ClassifyingServer() {
    config_.num_labels = 2;
    config_.type_vocab_size = 2;
    options_.label_names = {"bad", "good"};
  }
  /// The response if the model gave these logits.
  OrderedJson Answer(const std::string& body, const std::vector<float>& logits) const {
    auto prepared = ValueOrFail(Prepare(TeiPredictEndpoint(), body));
    JobRows rows(prepared.sequences.size(), std::vector<proto::RowLogits>(1));
    for (std::vector<proto::RowLogits>& row : rows) {
      row[0].label_logits = logits;
    }
    return JsonOf(*ValueOrFail(prepared.readout->Respond(rows)));
  }
  OrderedJson Answer(const std::string& body) const {
    auto prepared = ValueOrFail(Prepare(TeiPredictEndpoint(), body));
    JobRows rows = Compute(prepared.sequences);
    for (std::vector<proto::RowLogits>& row : rows) {
      row[0].embedding.resize(static_cast<std::size_t>(config_.num_labels));
      row[0].label_logits = std::move(row[0].embedding);
    }
    return JsonOf(*ValueOrFail(prepared.readout->Respond(rows)));
  }
};

TEST(TeiPredict, ClassesAreSortedByTheirScores) {
  const ClassifyingServer server;
  const OrderedJson raw = server.Answer(R"({"inputs":"ab","raw_scores":true})");
  ASSERT_EQ(raw.size(), 2U);
  EXPECT_GE(raw[0]["score"], raw[1]["score"]);
  const std::vector<float> logits = server.VectorOfText("ab");
  const bool is_good = logits[1] > logits[0];
  EXPECT_EQ(raw[0]["label"], is_good ? "good" : "bad");
  EXPECT_FLOAT_EQ(raw[0]["score"].get<float>(), std::max(logits[0], logits[1]));
  const OrderedJson scores = server.Answer(R"({"inputs":"ab"})");
  const double larger = std::exp(static_cast<double>(raw[0]["score"]));
  const double smaller = std::exp(static_cast<double>(raw[1]["score"]));
  EXPECT_NEAR(scores[0]["score"], larger / (larger + smaller), 1e-12);
}

TEST(TeiPredict, OneClassHasASigmoid) {
  ClassifyingServer server;
  server.config_.num_labels = 1;
  server.options_.label_names = {"LABEL_0"};
  const OrderedJson answer = server.Answer(R"({"inputs":"ab"})");
  const double logit = static_cast<double>(server.VectorOfText("ab")[0]);
  EXPECT_EQ(answer.size(), 1U);
  EXPECT_NEAR(answer[0]["score"], 1 / (1 + std::exp(-logit)), 1e-12);
}

/// "label score, …"
std::string TextOf(const OrderedJson& predictions) {
  std::string text;
  for (const OrderedJson& one : predictions) {
    text += (text.empty() ? "" : ", ") + one["label"].get<std::string>() + " " +
            std::to_string(one["score"].get<double>());
  }
  return text;
}

TEST(TeiPredict, ScoresAreWhatTheProblemTypeSays) {
  ClassifyingServer server;
  const auto answer = [&](std::optional<proto::ProblemType> type, const std::string& more = "") {
    server.config_.problem_type = type;
    return TextOf(server.Answer(R"({"inputs":"ab")" + more + "}", {-1, 2}));
  };
  const std::string softmax = "good 0.952574, bad 0.047426";
  const std::string logits = "good 2.000000, bad -1.000000";
  EXPECT_EQ(answer(std::nullopt), softmax);
  EXPECT_EQ(answer(proto::ProblemType::kSingleLabel), softmax);
  EXPECT_EQ(answer(proto::ProblemType::kMultiLabel), "good 0.880797, bad 0.268941");
  EXPECT_EQ(answer(proto::ProblemType::kRegression), logits);
  for (const auto type : {proto::ProblemType::kSingleLabel, proto::ProblemType::kMultiLabel,
                          proto::ProblemType::kRegression}) {
    EXPECT_EQ(answer(type, R"(,"raw_scores":true)"), logits);
  }
}

TEST(TeiPredict, ClassesWithEqualScoresAreSortedByTheirLogits) {
  ClassifyingServer server;
  server.config_.num_labels = 5;
  server.options_.label_names = {"a", "b", "c", "d", "e"};
  const std::string body = R"({"inputs":[["ab"],["c"]]})";
  for (const OrderedJson& text : server.Answer(body, {-900, 0, -800, -850, -800})) {
    EXPECT_EQ(TextOf(text), "b 1.000000, c 0.000000, e 0.000000, d 0.000000, a 0.000000");
    EXPECT_EQ(text[1]["score"], 0);
  }
  server.config_.problem_type = proto::ProblemType::kMultiLabel;
  EXPECT_EQ(TextOf(server.Answer(body, {50, 60, 90, 60, 70})[1]),
            "c 1.000000, e 1.000000, b 1.000000, d 1.000000, a 1.000000");
}

TEST(TeiPredict, InputsAreTextsOrPairs) {
  const ClassifyingServer server;
  EXPECT_EQ(server.Answer(R"({"inputs":["ab"]})"), server.Answer(R"({"inputs":"ab"})"));
  const OrderedJson pair = server.Answer(R"({"inputs":["ab","c"]})");
  EXPECT_EQ(pair.size(), 2U);
  EXPECT_TRUE(pair[0].is_object()) << "a pair is no batch";
  const OrderedJson batch = server.Answer(R"({"inputs":[["ab"],["ab","c"]]})");
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch[0], server.Answer(R"({"inputs":"ab"})"));
  EXPECT_EQ(batch[1], pair);
  const auto prepared =
      ValueOrFail(server.Prepare(TeiPredictEndpoint(), R"({"inputs":["a","b"]})"));
  EXPECT_FALSE(prepared.sequences[0].token_types.empty());
  for (const char* inputs : {"1", "[]", "[[]]", R"(["a","b","c"])", R"([["a"],"b"])", R"({"a":1})",
                             R"([["a","b","c"]])", R"([[1]])"}) {
    EXPECT_EQ(server.FaultOf(TeiPredictEndpoint(), std::string(R"({"inputs":)") + inputs + "}"),
              "wrong_type inputs")
        << inputs;
  }
  EXPECT_EQ(server.FaultOf(TeiPredictEndpoint(), R"({"inputs":""})"), "empty_input inputs");
}

TEST(TeiRoot, IsTheEndpointOfTheModelsKind) {
  EmbeddingServer server;
  EXPECT_EQ(TeiRootUrl(server.config_), "/embed");
  server.config_.num_labels = 1;
  EXPECT_EQ(TeiRootUrl(server.config_), "/rerank");
  server.config_.num_labels = 2;
  EXPECT_EQ(TeiRootUrl(server.config_), "/predict");
  server.config_.num_labels = 0;
  server.config_.read_head.reset();
  EXPECT_EQ(TeiRootUrl(server.config_), "");
}

}  // namespace tei_test
}  // namespace scorecast::coordinator
