// Completions of the chunked endpoint, computed by FakeCluster's model.

#include <map>
#include <set>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/json/response_writer.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/greedy_completion.h"
#include "tests/coordinator/endpoints/response_values.h"

namespace scorecast::coordinator {
namespace chunked_generation_test {

using nlohmann::json;
using proto::Expected;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using Ids = std::vector<TokenId>;

Expected<v1::ChunkedResponse> Ask(FakeServer& server, const json& request,
                                  const OnDelta& on_delta = {}) {
  auto response = coordinator::Ask<v1::ChunkedResponse>(server.service, ChunkedEndpoint(), request,
                                                        Clock::now(), on_delta);
  server.scheduler.WaitIdle();
  return response;
}

Ids IdsOf(const v1::ChunkedOutput& output) {
  return {output.token_ids().begin(), output.token_ids().end()};
}

/// The completion of the first question.
v1::ChunkedOutput FirstOutput(FakeServer& server, const json& request) {
  return ValueOrFail(Ask(server, request)).outputs(0);
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

json Example() {
  json request;
  request["system_prompt"] = Bytes("s");
  request["chunks"] = {Bytes("ab"), Bytes("cde")};
  request["questions"] = {Bytes("why?"), Bytes("who?")};
  request["max_new_tokens"] = 9;
  return request;
}

TEST(ChunkedGeneration, ASeedIsDrawnAndSaid) {
  FakeServer server;
  json request = Example();
  EXPECT_FALSE(ValueOrFail(Ask(server, request)).has_seed()) << "nothing is drawn";
  request["temperature"] = 1.5;
  const v1::ChunkedResponse one = ValueOrFail(Ask(server, request));
  const v1::ChunkedResponse other = ValueOrFail(Ask(server, request));
  ASSERT_TRUE(one.has_seed() && other.has_seed());
  EXPECT_NE(one.seed(), other.seed());
  EXPECT_NE(IdsOf(one.outputs(0)), IdsOf(other.outputs(0)));
  request["seed"] = one.seed();
  const v1::ChunkedResponse again = ValueOrFail(Ask(server, request));
  EXPECT_EQ(again.seed(), one.seed());
  EXPECT_EQ(IdsOf(again.outputs(0)), IdsOf(one.outputs(0)));
  EXPECT_EQ(OrderedJson::parse(ResponseJson(again)).at("seed"), one.seed());
  request["seed"] = 0U;
  const v1::ChunkedResponse zero = ValueOrFail(Ask(server, request));
  EXPECT_TRUE(zero.has_seed());
  EXPECT_EQ(zero.seed(), 0U);
}

TEST(ChunkedGeneration, EachQuestionHasItsOwnCompletion) {
  FakeServer server;
  const auto response = Ask(server, Example());
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_EQ(response->outputs_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const std::string question = i == 0 ? "why?" : "who?";
    const v1::ChunkedOutput& output = response->outputs(i);
    EXPECT_EQ(IdsOf(output), Greedy(question, 9));
    EXPECT_EQ(output.text(), TextBehind(server, question, IdsOf(output)));
    EXPECT_EQ(output.finish_reason(), "length");
  }
  EXPECT_EQ(response->usage().prompt_tokens(), 14);
  EXPECT_EQ(response->usage().completion_tokens(), 18);
  EXPECT_EQ(response->usage().total_tokens(), 32);
  EXPECT_EQ(response->scores_size(), 0);
}

TEST(ChunkedGeneration, APlainPromptIsContinued) {
  FakeServer server;
  json request;
  request["prompt"] = "once upon";
  request["max_new_tokens"] = 5;
  request["label_token_ids"] = Ids{5, 6};
  const auto response = Ask(server, request);
  ASSERT_TRUE(response) << response.error().message;
  Ids prompt = Bytes("once upon");
  prompt.insert(prompt.begin(), 259);
  const proto::PackedSequence sequence = PackChunks(prompt, {}, {}, ChunkPositionStrategy::kShared);
  EXPECT_EQ(IdsOf(response->outputs(0)), GreedyCompletion(sequence, 5, FakeServer::kVocabSize));
  EXPECT_THAT(RowsOf(response->scores()), ElementsAre(SizeIs(2))) << "scores of the same prompt";
}

TEST(ChunkedGeneration, ScoresDoNotDependOnCompletions) {
  FakeServer server;
  json request = Example();
  request["label_token_ids"] = Ids{5, 6, 7};
  const auto with_completions = Ask(server, request);
  request["max_new_tokens"] = 0;
  const auto alone = Ask(server, request);
  ASSERT_TRUE(with_completions && alone);
  EXPECT_EQ(RowsOf(with_completions->scores()), RowsOf(alone->scores()));
  EXPECT_EQ(alone->outputs_size(), 0);
}

TEST(ChunkedGeneration, AStopTokenEndsACompletion) {
  FakeServer server;
  json request = Example();
  request["questions"] = {Bytes("why?")};
  const Ids whole = Greedy("why?", 9);
  const auto end = std::find(whole.begin(), whole.end(), whole[4]);
  request["stop_token_ids"] = {whole[4]};
  const v1::ChunkedOutput output = FirstOutput(server, request);
  EXPECT_EQ(IdsOf(output), Ids(whole.begin(), end + 1));
  EXPECT_EQ(output.text(), TextBehind(server, "why?", Ids(whole.begin(), end)));
  EXPECT_EQ(output.finish_reason(), "stop");
}

TEST(ChunkedGeneration, TheSeedAloneDecidesWhateverElseIsComputed) {
  FakeServer server;
  const auto sampled = [](std::uint64_t seed) {
    json request = Example();
    request.update({{"temperature", 1}, {"top_p", 0.9}, {"top_k", 0}, {"seed", seed}});
    return request;
  };
  std::map<std::uint64_t, Ids> alone;
  std::set<Ids> different;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    alone[seed] = IdsOf(FirstOutput(server, sampled(seed)));
    different.insert(alone[seed]);
  }
  EXPECT_GT(different.size(), 4U);
  std::vector<std::thread> threads;
  std::map<std::uint64_t, Ids> together = alone;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Ids& ids = together.at(seed);
    ids.clear();
    threads.emplace_back(
        [&server, &ids, request = sampled(seed)] { ids = IdsOf(FirstOutput(server, request)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(together, alone);
}

TEST(ChunkedGeneration, DeltasAddUpToTheCompletion) {
  FakeServer server;
  json request = Example();
  request["stream"] = true;
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
    const v1::ChunkedOutput& output = response->outputs(static_cast<int>(i));
    EXPECT_EQ(deltas[i].text, output.text());
    EXPECT_EQ(deltas[i].token_ids, IdsOf(output));
    EXPECT_EQ(Name(deltas[i].finish_reason.value()), output.finish_reason());
  }
}

TEST(ChunkedGeneration, ABrokenRowInTheMiddleGivesA500) {
  FakeServer server;
  json request = Example();
  server.cluster.BreakToken(Greedy("who?", 3).at(2));
  const auto response = Ask(server, request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, 500);
  EXPECT_EQ(response.error().reason, "not_finite");
}

}  // namespace chunked_generation_test
}  // namespace scorecast::coordinator
