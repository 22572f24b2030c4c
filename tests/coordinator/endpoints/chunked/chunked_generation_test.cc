// Completions of the chunked endpoint, computed by FakeCluster's model.

#include <map>
#include <set>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/endpoints/chunked/chunked_response.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/greedy_completion.h"

namespace scorecast::coordinator {
namespace chunked_generation_test {

using proto::Expected;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using Ids = std::vector<TokenId>;

Expected<ChunkedResponse> Ask(FakeServer& server, const ChunkedRequest& request,
                              const OnDelta& on_delta = {}) {
  auto response = coordinator::Ask<ChunkedResponse>(server.service, ChunkedEndpoint(), request,
                                                    Clock::now(), on_delta);
  server.scheduler.WaitIdle();
  return response;
}

std::vector<CompletionOutput> Outputs(FakeServer& server, const ChunkedRequest& request) {
  return ValueOrFail(Ask(server, request)).outputs.value_or(std::vector<CompletionOutput>());
}

/// The fake tokenizer's ids of a text.
Ids Bytes(const std::string& text) { return {text.begin(), text.end()}; }

Ids Greedy(const std::string& question, std::size_t n) {
  return GreedyCompletion(PackChunks(Bytes("s"), {{Bytes("ab")}, {Bytes("cde")}}, {Bytes(question)},
                                     ChunkPositionStrategy::kShared),
                          n, FakeServer::kVocabSize);
}

/// The text of ids that follow an ASCII question.
std::string TextBehind(const FakeServer& server, const std::string& question, const Ids& ids) {
  Ids all = Bytes(question);
  all.insert(all.end(), ids.begin(), ids.end());
  return server.tokenizer.Decode(all).substr(question.size());
}

ChunkedRequest Example() {
  ChunkedRequest request;
  request.system_prompt = Bytes("s");
  request.chunks = {Bytes("ab"), Bytes("cde")};
  request.questions = {Bytes("why?"), Bytes("who?")};
  request.max_new_tokens = 9;
  return request;
}

TEST(ChunkedGeneration, ASeedIsDrawnAndSaid) {
  FakeServer server;
  ChunkedRequest request = Example();
  EXPECT_EQ(ValueOrFail(Ask(server, request)).seed, std::nullopt) << "nothing is drawn";
  request.sampling.temperature = 1.5;
  const ChunkedResponse one = ValueOrFail(Ask(server, request));
  const ChunkedResponse other = ValueOrFail(Ask(server, request));
  ASSERT_TRUE(one.seed && other.seed);
  EXPECT_NE(*one.seed, *other.seed);
  EXPECT_NE(one.outputs->front().token_ids, other.outputs->front().token_ids);
  request.sampling.seed = one.seed;
  const ChunkedResponse again = ValueOrFail(Ask(server, request));
  EXPECT_EQ(again.seed, one.seed);
  EXPECT_EQ(again.outputs->front().token_ids, one.outputs->front().token_ids);
  EXPECT_EQ(again.ToJson().at("seed"), *one.seed);
  v1::Response message;
  again.ToMessage(message);
  EXPECT_EQ(message.chunked().seed(), *one.seed);
  request.sampling.seed = 0;
  EXPECT_EQ(ValueOrFail(Ask(server, request)).seed, 0U);
}

TEST(ChunkedGeneration, EachQuestionHasItsOwnCompletion) {
  FakeServer server;
  const auto response = Ask(server, Example());
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_THAT(*response->outputs, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string question = i == 0 ? "why?" : "who?";
    const CompletionOutput& output = response->outputs->at(i);
    EXPECT_EQ(output.token_ids, Greedy(question, 9));
    EXPECT_EQ(output.text, TextBehind(server, question, output.token_ids));
    EXPECT_EQ(output.finish_reason, FinishReason::kLength);
  }
  EXPECT_EQ(response->usage.prompt_tokens, 14);
  EXPECT_EQ(response->usage.completion_tokens, 18);
  EXPECT_EQ(response->usage.total_tokens(), 32);
  EXPECT_FALSE(response->scores);
}

TEST(ChunkedGeneration, APlainPromptIsContinued) {
  FakeServer server;
  ChunkedRequest request;
  request.prompt = "once upon";
  request.max_new_tokens = 5;
  request.label_token_ids = Ids{5, 6};
  const auto response = Ask(server, request);
  ASSERT_TRUE(response) << response.error().message;
  Ids prompt = Bytes("once upon");
  prompt.insert(prompt.begin(), 259);
  const proto::PackedSequence sequence = PackChunks(prompt, {}, {}, ChunkPositionStrategy::kShared);
  EXPECT_EQ(response->outputs->at(0).token_ids,
            GreedyCompletion(sequence, 5, FakeServer::kVocabSize));
  EXPECT_THAT(*response->scores, ElementsAre(SizeIs(2))) << "scores of the same prompt";
}

TEST(ChunkedGeneration, ScoresDoNotDependOnCompletions) {
  FakeServer server;
  ChunkedRequest request = Example();
  request.label_token_ids = Ids{5, 6, 7};
  const auto with_completions = Ask(server, request);
  request.max_new_tokens = 0;
  const auto alone = Ask(server, request);
  ASSERT_TRUE(with_completions && alone);
  EXPECT_EQ(with_completions->scores, alone->scores);
  EXPECT_FALSE(alone->outputs);
}

TEST(ChunkedGeneration, AStopTokenEndsACompletion) {
  FakeServer server;
  ChunkedRequest request = Example();
  request.questions = {Bytes("why?")};
  const Ids whole = Greedy("why?", 9);
  const auto end = std::find(whole.begin(), whole.end(), whole[4]);
  request.stop_token_ids = {whole[4]};
  const CompletionOutput output = Outputs(server, request).at(0);
  EXPECT_EQ(output.token_ids, Ids(whole.begin(), end + 1));
  EXPECT_EQ(output.text, TextBehind(server, "why?", Ids(whole.begin(), end)));
  EXPECT_EQ(output.finish_reason, FinishReason::kStop);
}

TEST(ChunkedGeneration, TheSeedAloneDecidesWhateverElseIsComputed) {
  FakeServer server;
  const auto sampled = [](std::uint64_t seed) {
    ChunkedRequest request = Example();
    request.sampling = {.temperature = 1, .top_p = 0.9, .top_k = 0, .seed = seed};
    return request;
  };
  std::map<std::uint64_t, Ids> alone;
  std::set<Ids> different;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    alone[seed] = Outputs(server, sampled(seed)).at(0).token_ids;
    different.insert(alone[seed]);
  }
  EXPECT_GT(different.size(), 4U);
  std::vector<std::thread> threads;
  std::map<std::uint64_t, Ids> together = alone;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Ids& ids = together.at(seed);
    ids.clear();
    threads.emplace_back([&server, &ids, request = sampled(seed)] {
      ids = Outputs(server, request).at(0).token_ids;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(together, alone);
}

TEST(ChunkedGeneration, DeltasAddUpToTheCompletion) {
  FakeServer server;
  ChunkedRequest request = Example();
  request.stream = true;
  std::map<std::size_t, CompletionDelta> deltas;
  const auto response = Ask(server, request, [&](std::size_t question, CompletionDelta delta) {
    CompletionDelta& sum = deltas[question];
    EXPECT_THAT(delta.token_ids, SizeIs(1));
    EXPECT_FALSE(sum.finish_reason) << "that was the last delta";
    sum.text += delta.text;
    sum.token_ids.push_back(delta.token_ids.front());
    sum.finish_reason = delta.finish_reason;
  });
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_THAT(deltas, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(deltas[i].text, response->outputs->at(i).text);
    EXPECT_EQ(deltas[i].token_ids, response->outputs->at(i).token_ids);
    EXPECT_EQ(deltas[i].finish_reason, response->outputs->at(i).finish_reason);
  }
}

TEST(ChunkedGeneration, ABrokenRowInTheMiddleGivesA500) {
  FakeServer server;
  ChunkedRequest request = Example();
  server.cluster.BreakToken(Greedy("who?", 3).at(2));
  const auto response = Ask(server, request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, 500);
  EXPECT_EQ(response.error().reason, "not_finite");
}

}  // namespace chunked_generation_test
}  // namespace scorecast::coordinator
