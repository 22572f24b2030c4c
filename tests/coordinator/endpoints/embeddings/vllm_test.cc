// Requests of vLLM's clients to models that read whole texts, from the body to the response.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/endpoints/vllm/vllm_endpoints.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/embeddings/embedding_server.h"

namespace scorecast::coordinator {
namespace vllm_test {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::StartsWith;

OrderedJson Answer(const EmbeddingServer& server, const Endpoint& endpoint,
                   const std::string& body) {
  return ValueOrFail(server.Respond(endpoint, body));
}

TEST(Pooling, ReturnsVectors) {
  EmbeddingServer server;
  const OrderedJson response = Answer(server, PoolingEndpoint(), R"({"input":["ab","c"]})");
  EXPECT_THAT(response["id"].get<std::string>(), StartsWith("pool-"));
  EXPECT_EQ(response["object"], "list");
  EXPECT_EQ(response["data"][1]["index"], 1);
  EXPECT_EQ(response["data"][1]["object"], "pooling");
  EXPECT_EQ(FloatsOf(response["data"][0]["data"]), server.VectorOfText("ab"));
  EXPECT_EQ(response["usage"]["prompt_tokens"], 7);
  std::vector<float> normalized = server.VectorOfText("ab");
  Normalize(normalized);
  EXPECT_EQ(FloatsOf(Answer(server, PoolingEndpoint(),
                            R"({"input":"ab","use_activation":true})")["data"][0]["data"]),
            normalized);
  EXPECT_EQ(Answer(server, PoolingEndpoint(),
                   R"({"input":"ab","encoding_format":"base64"})")["data"][0]["data"],
            Base64Of(server.VectorOfText("ab")));
  EXPECT_EQ(server.FaultOf(PoolingEndpoint(), R"({"input":"a","task":"classify"})"),
            "unknown_task task");
  EXPECT_EQ(server.FaultOf(PoolingEndpoint(), R"({"input":"a","encoding_format":"bytes"})"),
            "unknown_encoding encoding_format");
}

TEST(Pooling, ReturnsTheVectorsOfAllTokens) {
  const EmbeddingServer server;
  const OrderedJson data =
      Answer(server, PoolingEndpoint(), R"({"input":["ab"],"task":"token_embed"})")["data"][0];
  ASSERT_EQ(data["data"].size(), 4U);
  EXPECT_EQ(FloatsOf(data["data"][1]), server.VectorOf({259, 'a'}, /*first_row=*/1));
  EXPECT_EQ(
      server.FaultOf(PoolingEndpoint(), R"({"input":"a","task":"token_embed","dimensions":3})"),
      "dimensions_not_here dimensions");
}

/// The response of a classifier whose logits are given.
OrderedJson Classified(const EmbeddingServer& server, const Endpoint& endpoint,
                       const std::string& body, const std::vector<float>& logits) {
  auto prepared = ValueOrFail(server.Prepare(endpoint, body));
  JobRows rows(prepared.sequences.size(), std::vector<proto::RowLogits>(1));
  for (std::vector<proto::RowLogits>& row : rows) {
    row[0].label_logits = logits;
  }
  return JsonOf(*ValueOrFail(prepared.readout->Respond(rows)));
}

TEST(Classify, ReturnsProbabilities) {
  EmbeddingServer server;
  server.config_.num_labels = 2;
  server.options_.label_names = {"bad", "good"};
  const OrderedJson response =
      Classified(server, ClassifyEndpoint(), R"({"input":["a","b"]})", {1, 3});
  const OrderedJson& text = response["data"][1];
  EXPECT_EQ(text["index"], 1);
  EXPECT_EQ(text["label"], "good");
  EXPECT_EQ(text["num_classes"], 2);
  EXPECT_NEAR(text["probs"][1], 1 / (1 + std::exp(-2.0)), 1e-12);
  EXPECT_EQ(Classified(server, ClassifyEndpoint(), R"({"input":"a","use_activation":false})",
                       {1, 3})["data"][0]["probs"],
            OrderedJson({1.0, 3.0}));
  EXPECT_EQ(FloatsOf(Classified(server, PoolingEndpoint(),
                                R"({"input":"a","task":"classify","use_activation":false})",
                                {1, 3})["data"][0]["data"]),
            (std::vector<float>{1, 3}));
}

TEST(Classify, ScoresAreWhatTheProblemTypeSays) {
  EmbeddingServer server;
  server.config_.num_labels = 2;
  server.options_.label_names = {"bad", "good"};
  const auto probs = [&](proto::ProblemType type, const std::string& more = "") {
    server.config_.problem_type = type;
    const std::string body = R"({"input":"a")" + more + "}";
    const std::vector<float> values =
        FloatsOf(Classified(server, ClassifyEndpoint(), body, {-1, 2})["data"][0]["probs"]);
    EXPECT_EQ(FloatsOf(Classified(server, PoolingEndpoint(), body, {-1, 2})["data"][0]["data"]),
              values);
    return values;
  };
  const auto are = [](float first, float second) {
    return ElementsAre(FloatNear(first, 1e-6F), FloatNear(second, 1e-6F));
  };
  EXPECT_THAT(probs(proto::ProblemType::kSingleLabel), are(0.047425873F, 0.952574127F));
  EXPECT_THAT(probs(proto::ProblemType::kMultiLabel), are(0.268941421F, 0.880797078F));
  EXPECT_THAT(probs(proto::ProblemType::kMultiLabel, R"(,"use_activation":true)"),
              are(0.268941421F, 0.880797078F));
  EXPECT_THAT(probs(proto::ProblemType::kRegression), ElementsAre(-1, 2));
  EXPECT_THAT(probs(proto::ProblemType::kMultiLabel, R"(,"use_activation":false)"),
              ElementsAre(-1, 2));
}

TEST(Classify, TheLabelIsThatOfTheLargestLogit) {
  EmbeddingServer server;
  server.config_.num_labels = 3;
  server.config_.problem_type = proto::ProblemType::kMultiLabel;
  server.options_.label_names = {"a", "b", "c"};
  const auto label = [&](const std::vector<float>& logits) {
    return Classified(server, ClassifyEndpoint(), R"({"input":"a"})", logits)["data"][0]["label"]
        .get<std::string>();
  };
  EXPECT_EQ(label({50, 60, 55}), "b") << "all sigmoids are 1";
  EXPECT_EQ(label({-900, -850, -800}), "c") << "all sigmoids are 0";
  EXPECT_EQ(label({1, 2, 2}), "b");
}

TEST(Classify, ACausalClassifierReadsTheLastRow) {
  EmbeddingServer server;
  server.config_.num_labels = 2;
  server.config_.read_head.reset();
  const auto prepared = ValueOrFail(server.Prepare(ClassifyEndpoint(), R"({"input":"ab"})"));
  EXPECT_EQ(prepared.sequences[0].reads, (std::vector<proto::RowRead>{{.row = 3}}));
  EXPECT_EQ(prepared.sequences[0].label_lists[0].size(), 2U);
}

/// The tokens of the only sequence of a request.
std::vector<TokenId> TokensOf(const EmbeddingServer& server, const Endpoint& endpoint,
                              const std::string& body) {
  return ValueOrFail(server.Prepare(endpoint, body)).sequences[0].tokens;
}

/// Those of a rendered conversation: see WithChat.
std::vector<TokenId> ChatTokens(const std::string& text) {
  std::vector<TokenId> tokens = {kChatBos};
  tokens.insert(tokens.end(), text.begin(), text.end());
  return tokens;
}

TEST(Conversation, IsTheTextOfAClassifier) {
  EmbeddingServer server;
  server.config_.num_labels = 2;
  server.config_.read_head.reset();
  server.options_.label_names = {"bad", "good"};
  server.options_ = WithChat(server.options_);
  const std::string messages =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}])";
  const std::string text = "<user>a</><assistant>b</>";
  EXPECT_EQ(TokensOf(server, ClassifyEndpoint(), messages + "}"), ChatTokens(text));
  EXPECT_EQ(TokensOf(server, PoolingEndpoint(), messages + "}"), ChatTokens(text));
  EXPECT_EQ(TokensOf(server, ClassifyEndpoint(),
                     messages + R"(,"add_generation_prompt":true,"chat_template_kwargs":)"
                                R"({"mood":"happy"}})"),
            ChatTokens(text + "<assistant>happy"));
  EXPECT_EQ(TokensOf(server, ClassifyEndpoint(), messages + R"(,"truncate_prompt_tokens":4})"),
            ChatTokens("<us"));
  server.with_bos_.SetRules({.truncation_side = TruncationSide::kLeft});
  EXPECT_EQ(TokensOf(server, ClassifyEndpoint(), messages + R"(,"truncate_prompt_tokens":4})"),
            (std::vector<TokenId>{'b', '<', '/', '>'}));
  EXPECT_EQ(Classified(server, ClassifyEndpoint(), messages + "}", {1, 3})["data"][0]["label"],
            "good");
}

TEST(Conversation, IsTheTextOfAnEmbeddingModel) {
  EmbeddingServer server;
  server.options_ = WithChat(server.options_);
  const OrderedJson response =
      Answer(server, PoolingEndpoint(), R"({"messages":[{"role":"user","content":"a"}]})");
  EXPECT_EQ(FloatsOf(response["data"][0]["data"]), server.VectorOf(ChatTokens("<user>a</>")));
}

TEST(Conversation, ReturnsTheVectorsOfAllTokens) {
  EmbeddingServer server;
  server.options_ = WithChat(server.options_);
  const std::string messages =
      R"({"messages":[{"role":"user","content":"a"}],"task":"token_embed")";
  const OrderedJson response = Answer(server, PoolingEndpoint(), messages + "}");
  EXPECT_EQ(response["data"][0]["data"].size(), ChatTokens("<user>a</>").size());
  // The room that is kept for the response is that of a short text.
  const ParsedRequest few = PoolingEndpoint().FromJson(OrderedJson::parse(messages + "}"));
  const ParsedRequest many = PoolingEndpoint().FromJson(
      OrderedJson::parse(R"({"messages":[{"role":"user","content":")" + std::string(100, 'a') +
                         R"("}],"task":"token_embed"})"));
  proto::ModelConfig config = server.config_;
  config.max_position_embeddings = 1'000'000;
  EXPECT_LT((*few)->ResponseBytesBound(config), (*many)->ResponseBytesBound(config));
  // The template adds more than it is expected to.
  EXPECT_EQ(server.FaultOf(PoolingEndpoint(),
                           messages +
                               R"(,"add_generation_prompt":true,"chat_template_kwargs":{"mood":")" +
                               std::string(200, 'x') + R"("}})"),
            "answer_too_large messages");
}

TEST(Conversation, HasFaults) {
  EmbeddingServer server;
  server.config_.num_labels = 2;
  const std::string user = R"({"messages":[{"role":"user","content":"a"}])";
  EXPECT_EQ(server.FaultOf(ClassifyEndpoint(), user + "}"), "no_chat_template messages");
  server.options_ = WithChat(server.options_);
  EXPECT_EQ(server.FaultOf(ClassifyEndpoint(), R"({"messages":[]})"),
            "empty_conversation messages");
  EXPECT_EQ(server.FaultOf(ClassifyEndpoint(), R"({"messages":[{"role":"tool","content":"a"}]})"),
            "unknown_role messages[0].role");
  EXPECT_EQ(
      server.FaultOf(PoolingEndpoint(), R"({"messages":[{"role":"user","content":"refuse"}]})"),
      "conversation_refused messages");
  EXPECT_EQ(server.FaultOf(ClassifyEndpoint(), user + R"(,"input":"a"})"), "not_supported input");
  EXPECT_EQ(
      server.FaultOf(ClassifyEndpoint(),
                     user + R"(,"add_generation_prompt":true,"continue_final_message":true})"),
      "continue_final_message_with_generation_prompt continue_final_message");
  const std::string long_text(static_cast<std::size_t>(server.config_.max_position_embeddings),
                              'x');
  EXPECT_EQ(server.FaultOf(ClassifyEndpoint(),
                           R"({"messages":[{"role":"user","content":")" + long_text + R"("}]})"),
            "context_length_exceeded messages");
}

TEST(Cosines, AnEmbeddingModelComparesAQueryWithDocuments) {
  const EmbeddingServer server;
  const auto cosine = [&](const std::string& a, const std::string& b) {
    return SimilarityOf(Similarity::kCosine, server.VectorOfText(a), server.VectorOfText(b));
  };
  const OrderedJson scores =
      Answer(server, ScoreEndpoint(), R"({"text_1":["ab","c"],"text_2":["d","ab"]})")["data"];
  EXPECT_EQ(scores[0]["score"], cosine("ab", "d"));
  EXPECT_EQ(scores[1]["score"], cosine("c", "ab"));
  const OrderedJson ranked =
      Answer(server, RerankEndpoint(), R"({"query":"ab","documents":["d","ab"]})")["results"];
  EXPECT_EQ(ranked[0]["index"], 1);
  EXPECT_NEAR(ranked[0]["relevance_score"], 1, 1e-12);
  EXPECT_EQ(ranked[1]["relevance_score"], cosine("ab", "d"));
  EXPECT_EQ(
      server.FaultOf(RerankEndpoint(), R"({"query":"a","documents":["b"],"instruction":"c"})"),
      "not_for_embedders instruction");
  EXPECT_EQ(server.FaultOf(RerankEndpoint(),
                           R"({"query":"a","documents":["b"],"truncation_strategy":"only_first"})"),
            "not_for_embedders truncation_strategy");
}

TEST(Cosines, EqualOnesAreInTheOrderOfTheRequest) {
  const EmbeddingServer server;
  const OrderedJson response =
      Answer(server, RerankEndpoint(), R"({"query":"ab","documents":["d","ab","d","ab"]})");
  std::vector<int> indices;
  for (const OrderedJson& one : response["results"]) {
    indices.push_back(one["index"]);
  }
  EXPECT_THAT(indices, ElementsAre(1, 3, 0, 2));
}

TEST(Similarities, AreThoseThatTheModelNames) {
  EmbeddingServer server;
  for (const Similarity one : {Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan}) {
    SCOPED_TRACE(NameOf(one));
    server.options_.embedder.similarity = one;
    const auto similarity = [&](const std::string& a, const std::string& b) {
      return SimilarityOf(one, server.VectorOfText(a), server.VectorOfText(b));
    };
    const OrderedJson scores =
        Answer(server, ScoreEndpoint(), R"({"text_1":["ab","c"],"text_2":["d","ab"]})")["data"];
    EXPECT_EQ(scores[0]["score"], similarity("ab", "d"));
    EXPECT_EQ(scores[1]["score"], similarity("c", "ab"));
    const OrderedJson ranked =
        Answer(server, RerankEndpoint(), R"({"query":"ab","documents":["d","ab","c"]})")["results"];
    const std::vector<std::string> documents = {"d", "ab", "c"};
    ASSERT_EQ(ranked.size(), documents.size());
    double last = std::numeric_limits<double>::infinity();
    for (const OrderedJson& result : ranked) {
      const auto score = result["relevance_score"].get<double>();
      EXPECT_EQ(score, similarity("ab", documents[result["index"].get<std::size_t>()]));
      EXPECT_LE(score, last);
      last = score;
    }
  }
}

TEST(Cosines, LongTextsAreCut) {
  EmbeddingServer server;
  server.config_.max_position_embeddings = 4;
  const OrderedJson ranked =
      Answer(server, RerankEndpoint(), R"({"query":"ab","documents":["abcdef"]})")["results"];
  EXPECT_NEAR(ranked[0]["relevance_score"], 1, 1e-12);
  EXPECT_EQ(
      server.FaultOf(RerankEndpoint(), R"({"query":"ab","documents":["abcdef"],"truncate":false})"),
      "context_length_exceeded documents[0]");
}

}  // namespace vllm_test
}  // namespace scorecast::coordinator
