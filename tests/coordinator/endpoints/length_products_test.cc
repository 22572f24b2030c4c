// Products of two lengths that a client chooses, each bounded before it is copied: docs/security.md
// has a table of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/decisions/decider.h"
#include "coordinator/endpoints/completions/chat_endpoint.h"
#include "coordinator/endpoints/completions/completions_endpoint.h"
#include "coordinator/endpoints/decisions/systemone_endpoint.h"
#include "coordinator/endpoints/embeddings/embeddings_endpoint.h"
#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/generate/stop_strings.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/schedule/queue/job_size.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/embeddings/embedding_server.h"
#include "tests/coordinator/endpoints/rerank/test_reranker.h"
#include "tests/coordinator/endpoints/validation.h"
#include "tests/coordinator/endpoints/whole_text_server.h"

namespace scorecast::coordinator {
namespace length_products_test {

using nlohmann::json;

/// Texts of a long model are short enough for few of them to be too much.
constexpr std::int64_t kPositions = 1 << 16;

void MakeLong(CheckingServer& server) {
  server.config_.max_position_embeddings = kPositions;
  server.limits_.max_rows = 2 * kPositions;
  server.limits_.pass_kv_rows = 2 * kPositions;
  server.limits_.kept_kv_rows = 2 * kPositions;
}

/// "code reason param" of the error; "none" if there is none.
std::string FaultOf(const Endpoint& endpoint, const std::string& body,
                    const CheckingServer& server) {
  const auto prepared = PrepareBody(endpoint, body, server.context());
  return prepared ? "none"
                  : std::to_string(prepared.error().code) + " " + prepared.error().reason + " " +
                        prepared.error().param;
}

std::string FaultOf(const Endpoint& endpoint, const json& body, const CheckingServer& server) {
  return FaultOf(endpoint, body.dump(), server);
}

json RerankBody(std::size_t query_bytes, std::int64_t documents) {
  return {{"query", std::string(query_bytes, 'q')},
          {"documents", std::vector<std::string>(static_cast<std::size_t>(documents), "a")}};
}

TEST(LengthProducts, OfAQueryAndDocumentsThatArePairs) {
  PairServer server;
  MakeLong(server);
  constexpr std::int64_t kQuery = 65'000;
  constexpr std::int64_t kPair = kQuery + 1 + 4;  // Two tokens are added to each of the texts.
  constexpr std::int64_t kMost = RepeatedTokens::kMost / kPair;
  EXPECT_EQ(FaultOf(RerankEndpoint(), RerankBody(kQuery, kMost), server), "none");
  EXPECT_EQ(FaultOf(RerankEndpoint(), RerankBody(kQuery, kMost + 1), server),
            "413 too_many_tokens documents");
}

TEST(LengthProducts, OfAQueryBehindEachDocument) {
  const FakeTokenizer tokenizer({}, kBos);
  CheckingServer server;
  MakeLong(server);
  server.tokenizer_ = &tokenizer;
  server.options_.reranker = MakeReranker(R"(
        prompt: "D{document}Q{query}?"
        true: 7
        score: true
        )",
                                          tokenizer, {7});
  EXPECT_EQ(FaultOf(RerankEndpoint(), RerankBody(65'000, 2), server), "none");
  EXPECT_EQ(FaultOf(RerankEndpoint(), RerankBody(65'000, 260), server),
            "413 too_many_tokens documents");
}

TEST(LengthProducts, OfBlocksAndPasses) {
  CheckingServer server;
  MakeLong(server);
  server.options_.reranker = MakeReranker(R"(
        prompt: "{query}-{document}?"
        true: 7
        score: true
        )",
                                          server.with_bos_, {7});
  const auto prepared =
      ValueOrFail(PrepareBody(RerankEndpoint(), RerankBody(3, 100'000).dump(), server.context()));
  ASSERT_EQ(prepared.sequences.size(), 4U);
  std::size_t reads = 0;
  for (const proto::PackedSequence& sequence : prepared.sequences) {
    EXPECT_LE(sequence.segments.size(), PromptPacker::kMostBlocks + 1);
    reads += sequence.reads.size();
  }
  EXPECT_EQ(reads, 100'000U);
}

TEST(LengthProducts, OfAPromptAndTexts) {
  EmbeddingServer server;
  MakeLong(server);
  json body = {{"prompt", std::string(60'000, 'p')}, {"input", {"a", "b"}}};
  EXPECT_EQ(FaultOf(EmbeddingsEndpoint(), body, server), "none");
  body["input"] = std::vector<std::string>(280, "a");
  EXPECT_EQ(FaultOf(EmbeddingsEndpoint(), body, server), "413 prompt_too_long prompt");
  // Of a text that is cut at its end, no more tokens are copied than are left.
  server.config_.max_position_embeddings = 64;
  body["truncate"] = true;
  EXPECT_EQ(FaultOf(EmbeddingsEndpoint(), body, server), "none");
}

TEST(LengthProducts, OfASystemMessageAndTexts) {
  EmbeddingServer server;
  MakeLong(server);
  server.options_.messages = MakeMessages(*server.tokenizer_);
  json body = {{"prompt", std::string(60'000, 'p')}, {"input", {"a", "b"}}};
  EXPECT_EQ(FaultOf(EmbeddingsEndpoint(), body, server), "none");
  body["input"] = std::vector<std::string>(280, "a");
  EXPECT_EQ(FaultOf(EmbeddingsEndpoint(), body, server), "413 prompt_too_long prompt");
}

TEST(LengthProducts, OfAQueryAndDocumentsThatAreMessages) {
  PairServer server;
  MakeLong(server);
  server.options_.reranker =
      std::make_shared<const Reranker>(Reranker::Parts{.name = "chat",
                                                       .reason = "a test",
                                                       .prompt = std::nullopt,
                                                       .messages = MakeMessages(*server.tokenizer_),
                                                       .labels = proto::LabelList{0},
                                                       .formula = ScoreFormula::OfHead()});
  EXPECT_EQ(FaultOf(RerankEndpoint(), RerankBody(60'000, 2), server), "none");
  // Also if little is left of the query.
  json body = RerankBody(60'000, 280);
  body["truncate_prompt_tokens"] = 10;
  EXPECT_EQ(FaultOf(RerankEndpoint(), body, server), "413 query_too_long query");
  body["max_tokens_per_query"] = 10;
  EXPECT_EQ(FaultOf(RerankEndpoint(), body, server), "none");
}

TEST(LengthProducts, OfEmbeddingsThatAreKeptForAShorterAnswer) {
  proto::ModelConfig config;
  config.read_head.emplace();
  config.read_head->output_size = 1000;
  ASSERT_TRUE(config.is_embedder());
  const auto texts = std::vector<std::string>(50, "a");
  const std::int64_t kept = 50 * 1000 * std::int64_t{sizeof(float)};
  EXPECT_GE(ReadFrom<v1::EmbeddingsRequest>(
                EmbeddingsEndpoint().FromJson({{"input", texts}, {"dimensions", 1}}))
                .ResponseBytesBound(config),
            kept);
  EXPECT_GE(
      ReadFrom<v1::RerankRequest>(RerankEndpoint().FromJson({{"query", "q"}, {"documents", texts}}))
          .ResponseBytesBound(config),
      kept);
}

TEST(LengthProducts, OfLikelihoodsAndWhatARowTakes) {
  const std::string item(1000, 'a');
  proto::ModelConfig config;
  config.max_position_embeddings = 2000;
  const auto bound =
      ReadFrom<v1::ScoreRequest>(
          ScoreEndpoint().FromJson(
              {{"query", "q"}, {"items", std::vector(20, item)}, {"likelihood", true}}))
          .ResponseBytesBound(config);
  EXPECT_GE(
      2 * bound,
      20 * 1000 * static_cast<std::int64_t>(sizeof(proto::RowRead) + sizeof(proto::RowLogits)));
}

/// 128 completions of one prompt.
json CompletionsBody(const json& fields) {
  json body = {{"prompt", {1, 2}}, {"max_tokens", 1}, {"n", 128}};
  body.update(fields);
  return body;
}

TEST(LengthProducts, OfCompletionsAndTheirAdjustedTokens) {
  CheckingServer server;
  server.config_.vocab_size = 300'000;
  json bias = json::object();
  for (int id = 0; id < 270'000; ++id) {
    bias[std::to_string(id)] = 1;
  }
  const auto fault_of = [&](const json& fields) {
    return FaultOf(CompletionsEndpoint(), CompletionsBody(fields), server);
  };
  EXPECT_EQ(fault_of({{"logit_bias", bias}, {"presence_penalty", 1}}),
            "413 too_many_adjusted_tokens logit_bias");
  // Without a penalty, all completions share the list.
  EXPECT_EQ(fault_of({{"logit_bias", bias}}), "none");
  // A list of all tokens is shared, too.
  server.config_.vocab_size = 270'000;
  EXPECT_EQ(fault_of({{"logit_bias", bias}, {"presence_penalty", 1}}), "none");
}

TEST(LengthProducts, OfCompletionsAndTheTextOfIds) {
  CheckingServer server;
  const FakeTokenizer tokenizer({{std::string(100, ' '), 270}});
  server.tokenizer_ = &tokenizer;
  const std::vector<TokenId> ids(50, 270);
  const std::vector<TokenId> short_ids(50, 'a');
  EXPECT_EQ(
      FaultOf(CompletionsEndpoint(), CompletionsBody({{"prompt", ids}, {"echo", true}}), server),
      "413 answer_too_large echo");
  EXPECT_EQ(FaultOf(CompletionsEndpoint(), CompletionsBody({{"prompt", short_ids}, {"echo", true}}),
                    server),
            "none");
  // Ids that no prompt may have are not decoded at all.
  EXPECT_EQ(FaultOf(CompletionsEndpoint(),
                    CompletionsBody({{"prompt", std::vector<TokenId>(5000, 270)}, {"echo", true}}),
                    server),
            "400 too_many_positions prompt");
}

TEST(LengthProducts, OfCompletionsAndStops) {
  const StopList list({"one", "two"});
  const CompletionOptions options = {.stop = list, .stop_token_ids = {1, 2}};
  const CompletionOptions copy = options;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.stop.stops().data(), list.stops().data());
  EXPECT_EQ(copy.stop_token_ids.identity(), options.stop_token_ids.identity());
  // What is left of a completion counts as a part of its job.
  EXPECT_GE(SizeOf({}, 1000).bytes, 1000 * static_cast<std::int64_t>(sizeof(CompletionGenerator)));
}

TEST(LengthProducts, OfTemplateArgumentsAndTheirMembers) {
  CheckingServer server;
  server.options_ = WithChat();
  const auto fault_of = [&](const json& arguments) {
    return FaultOf(ChatEndpoint(),
                   {{"messages", {{{"role", "user"}, {"content", "p"}}}},
                    {"max_tokens", 1},
                    {"chat_template_kwargs", arguments}},
                   server);
  };
  json arguments = json::object();
  for (int i = 0; i < 128; ++i) {
    arguments["k" + std::to_string(i)] = i;
  }
  EXPECT_EQ(fault_of(arguments), "none");
  arguments["one"] = "more";
  EXPECT_EQ(fault_of(arguments), "400 too_many_arguments chat_template_kwargs");
  json members = json::object();
  for (int i = 0; i < 1023; ++i) {
    members[std::to_string(i)] = i;
  }
  EXPECT_EQ(fault_of({{"a", members}}), "none");
  members["one"] = 1;
  EXPECT_EQ(fault_of({{"a", members}}), "413 too_many_values chat_template_kwargs.a");
  EXPECT_EQ(fault_of({{"a", std::string(1 << 20, 'a')}}),
            "400 arguments_too_long chat_template_kwargs");
}

TEST(LengthProducts, OfNestedListsAndTheirIndentation) {
  const FakeTokenizer tokenizer({}, kBos);
  CheckingServer server;
  std::string why_not;
  server.options_.decider = Decider::Make(ParseDecisionTemplate(R"(
state: "S:{state}\n"
json: "indent 2"
noul: "{instructions}{options}?"
choice: "{instructions}{options}?"
score: "{instructions}{options}?"
option: "{label}{name}"
level: "{label}{description}"
outcome: "{label}{description}"
labels.noul: [["y"],["n"]]
labels.choice: "A-Z"
labels.score: "0-9"
)",
                                                                "t", "t"),
                                          tokenizer, server.config_, "", why_not);
  ASSERT_NE(server.options_.decider, nullptr) << why_not;
  const auto fault_of = [&](std::size_t numbers) {
    std::string state(28, '[');
    for (std::size_t i = 0; i < numbers; ++i) {
      state += i == 0 ? "0" : ",0";
    }
    state.append(28, ']');
    return FaultOf(
        SystemOneEndpoint(),
        R"({"questions":{"q":{"type":"noul","instructions":"i"}},"state":)" + state + "}", server);
  };
  EXPECT_EQ(fault_of(1'200'000), "413 json_too_long state");
  EXPECT_EQ(fault_of(1000), "400 too_many_positions state");
}

}  // namespace length_products_test
}  // namespace scorecast::coordinator
