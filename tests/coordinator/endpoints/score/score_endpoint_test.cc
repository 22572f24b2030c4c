#include "coordinator/endpoints/score/score_endpoint.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/response_writer.h"
#include "coordinator/prompts/sequence_layout.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/response_values.h"

namespace scorecast::coordinator {
namespace score_endpoint_test {

using nlohmann::json;
using proto::Expected;
using proto::PackedSequence;
using ::testing::ElementsAre;
using Ids = std::vector<TokenId>;

Expected<v1::ScoreResponse> Score(FakeServer& server, const json& request) {
  auto response = Ask<v1::ScoreResponse>(server.service, ScoreEndpoint(), request);
  server.scheduler.WaitIdle();
  return response;
}

v1::ScoreResponse ResponseTo(FakeServer& server, const json& request) {
  return ValueOrFail(Score(server, request));
}

/// The log-probabilities of labels after a plain causal sequence of ids.
std::vector<double> CausalLogprobs(const Ids& ids, const Ids& labels) {
  PackedSequence sequence = PackItems(std::make_shared<const Ids>(ids), {});
  sequence.label_lists = {labels};
  const proto::RowLogits row = ExpectedRow(
      sequence, {static_cast<std::int32_t>(ids.size()) - 1, 0, true, 0}, FakeServer::kVocabSize);
  std::vector<double> logprobs;
  for (const float logit : row.label_logits) {
    logprobs.push_back(static_cast<double>(logit) - static_cast<double>(row.max) -
                       std::log(row.sum_exp));
  }
  return logprobs;
}

ServerOptions OneByOne() {
  ServerOptions options;
  options.one_by_one = true;
  return options;
}

ServerOptions First() {
  ServerOptions options = FakeServer::MultiItem();
  options.delimiter_visibility = DelimiterVisibility::kFirst;
  return options;
}

json Example() {
  json request;
  request["query"] = Ids{11, 12, 13, 14, 15, 16, 17};
  request["items"] = {Ids{21}, Ids{22, 23}, Ids{}, Ids{24}};
  request["label_token_ids"] = Ids{5, 6, 7};
  request["return_token_logprobs"] = true;
  return request;
}

TEST(ScoreEndpoint, AnItemIsScoredAsIfItAloneFollowedTheQuery) {
  FakeServer server;
  const Ids labels = {5, 6, 7};
  const v1::ScoreResponse response = ResponseTo(server, Example());
  EXPECT_THAT(RowsOf(response.token_logprobs()),
              ElementsAre(CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 21}, labels),
                          CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 22, 23}, labels),
                          CausalLogprobs({11, 12, 13, 14, 15, 16, 17}, labels),
                          CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 24}, labels)));
  EXPECT_EQ(NumbersOf(response.query_token_logprobs()),
            CausalLogprobs({11, 12, 13, 14, 15, 16, 17}, labels));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(response.scores(i).values(j), std::exp(response.token_logprobs(i).values(j)));
    }
  }
  EXPECT_EQ(response.usage().prompt_tokens(), 11);
  EXPECT_EQ(response.model(), "default");
  for (const ServerOptions& options : {ServerOptions(), OneByOne()}) {
    FakeServer other(options);
    const v1::ScoreResponse same = ResponseTo(other, Example());
    EXPECT_EQ(RowsOf(same.scores()), RowsOf(response.scores()));
    EXPECT_EQ(RowsOf(same.token_logprobs()), RowsOf(response.token_logprobs()));
    EXPECT_FALSE(same.has_query_token_logprobs());
    EXPECT_EQ(same.usage().prompt_tokens(), options.one_by_one ? 32 : 11);
  }
}

TEST(ScoreEndpoint, VisibilityFirstLetsEveryItemSeeOnlyTheFirstDelimiter) {
  FakeServer server(First());
  const Ids labels = {5, 6, 7};
  const v1::ScoreResponse response = ResponseTo(server, Example());
  EXPECT_THAT(RowsOf(response.token_logprobs()),
              ElementsAre(CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 256, 21}, labels),
                          CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 256, 22, 23}, labels),
                          CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 256}, labels),
                          CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 256, 24}, labels)));
  EXPECT_EQ(NumbersOf(response.query_token_logprobs()),
            CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 256}, labels));
}

TEST(ScoreEndpoint, SetwiseReadsEveryOccurrence) {
  ServerOptions mis;
  mis.enable_mis = true;
  for (const ServerOptions& options : {FakeServer::MultiItem(), ServerOptions(), mis, OneByOne()}) {
    FakeServer server(options);
    json request = Example();
    request["items"] = {Ids{21, 9, 22, 9}, Ids{9}, Ids{23, 9, 24}};
    request["score_extraction_token"] = TokenId{9};
    const v1::ScoreResponse response = ResponseTo(server, request);
    const Ids labels = {5, 6, 7};
    EXPECT_THAT(RowsOf(response.token_logprobs()),
                ElementsAre(CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 21, 9}, labels),
                            CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 21, 9, 22, 9}, labels),
                            CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 9}, labels),
                            CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 23, 9}, labels)));
    EXPECT_THAT(response.occurrences(), ElementsAre(2, 1, 1));
    const auto body = OrderedJson::parse(ResponseJson(response));
    ASSERT_EQ(body["scores"].size(), 3u);
    EXPECT_EQ(body["scores"][0].size(), 2u);
    EXPECT_EQ(body["scores"][2][0].dump(), OrderedJson(NumbersOf(response.scores(3))).dump());
    EXPECT_EQ(body["token_logprobs"][1][0].dump(),
              OrderedJson(NumbersOf(response.token_logprobs(2))).dump());
  }
}

TEST(ScoreEndpoint, ManyItemsOverSeveralPasses) {
  for (const ServerOptions& options : {FakeServer::MultiItem(), ServerOptions(), OneByOne()}) {
    FakeServer server(options);  // 64 rows in a pass.
    json request = Example();
    request["items"] = json::array();
    for (int i = 0; i < 128; ++i) {
      request["items"].push_back(Ids(static_cast<std::size_t>(i % 5), 30 + i));
    }
    const v1::ScoreResponse response = ResponseTo(server, request);
    EXPECT_GT(server.cluster.plans().size(), 3u);
    ASSERT_EQ(response.scores_size(), 128);
    for (int i = 0; i < 128; ++i) {
      Ids ids = {11, 12, 13, 14, 15, 16, 17};
      ids.insert(ids.end(), static_cast<std::size_t>(i % 5), 30 + i);
      EXPECT_EQ(NumbersOf(response.token_logprobs(i)), CausalLogprobs(ids, {5, 6, 7}));
    }
  }
}

// Both the query and an item are longer than a pass.
TEST(ScoreEndpoint, ALongRequestTakesSeveralPasses) {
  FakeServer server{ServerOptions()};  // 64 rows in a pass.
  json request = Example();
  const Ids query(100, 11);
  request["query"] = query;
  request["items"] = {Ids{21}, Ids(150, 22), Ids(), Ids(70, 23)};
  const v1::ScoreResponse response = ResponseTo(server, request);
  EXPECT_GE(server.cluster.plans().size(), 6u);
  EXPECT_EQ(response.usage().prompt_tokens(), 321);
  for (std::size_t i = 0; i < 4; ++i) {
    Ids ids = query;
    const auto item = request["items"][i].get<Ids>();
    ids.insert(ids.end(), item.begin(), item.end());
    EXPECT_EQ(NumbersOf(response.token_logprobs(static_cast<int>(i))),
              CausalLogprobs(ids, {5, 6, 7}));
  }
}

TEST(ScoreEndpoint, LabelsPerItem) {
  for (const ServerOptions& options : {FakeServer::MultiItem(), ServerOptions(), OneByOne()}) {
    FakeServer server(options);
    json request = Example();
    request["label_token_ids"] = std::vector<Ids>{{5}, {9, 8}, {7, 5}, {1, 2, 3}};
    request["top_logprobs"] = 2;
    const v1::ScoreResponse response = ResponseTo(server, request);
    EXPECT_THAT(RowsOf(response.token_logprobs()),
                ElementsAre(CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 21}, {5}),
                            CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 22, 23}, {9, 8}),
                            CausalLogprobs({11, 12, 13, 14, 15, 16, 17}, {7, 5}),
                            CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 24}, {1, 2, 3})));
    EXPECT_FALSE(response.has_query_token_logprobs());
    EXPECT_EQ(response.top_logprobs_size(), options.delimiter ? 5 : 4);
  }
}

TEST(ScoreEndpoint, TopLogprobsAreTheVocabularysBest) {
  FakeServer server;
  json request = Example();
  request["top_logprobs"] = 50;
  const v1::ScoreResponse response = ResponseTo(server, request);
  Ids all(FakeServer::kVocabSize);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> logprobs = CausalLogprobs({11, 12, 13, 14, 15, 16, 17, 24}, all);
  const auto top = TopOf(response.top_logprobs(4));  // After the query's row.
  ASSERT_EQ(top.size(), 50u);
  for (const auto& [id, logprob] : top) {
    EXPECT_EQ(logprob, logprobs[static_cast<std::size_t>(id)]);
  }
  std::sort(logprobs.rbegin(), logprobs.rend());
  for (std::size_t i = 0; i < top.size(); ++i) {
    EXPECT_EQ(top[i].second, logprobs[i]);
  }
}

TEST(ScoreEndpoint, NoItemsNeedNoPass) {
  FakeServer server;
  json request = Example();
  request["items"] = json::array();
  const v1::ScoreResponse response = ResponseTo(server, request);
  EXPECT_EQ(response.scores_size(), 0);
  EXPECT_EQ(response.token_logprobs_size(), 0);
  EXPECT_FALSE(response.has_query_token_logprobs());
  EXPECT_TRUE(server.cluster.plans().empty());
}

TEST(ScoreEndpoint, ListsThatWereAskedForAreInJsonAlsoWithoutItems) {
  FakeServer server;
  const auto json_of = [&](const json& request) {
    const auto call = std::make_shared<AskingCall>();
    Begin(server.service, ScoreEndpoint(), ScoreEndpoint().FromJson(request), call);
    OrderedJson body = JsonOf(**call->Wait().Respond());
    body.erase("timings");
    return body.dump();
  };
  json request = Example();
  request["items"] = json::array();
  request["return_token_logprobs"] = false;
  const std::string begin =
      R"({"object":"scoring","scores":[],"model":"default","usage":{"prompt_tokens":7,)"
      R"("total_tokens":7,"completion_tokens":0,"cached_tokens":0})";
  EXPECT_EQ(json_of(request), begin + "}");
  request["return_token_logprobs"] = true;
  request["top_logprobs"] = 1;
  EXPECT_EQ(json_of(request), begin + R"(,"token_logprobs":[],"top_logprobs":[]})");
}

TEST(ScoreEndpoint, ABrokenModelGivesA500AndTheServerGoesOn) {
  for (const ServerOptions& options : {FakeServer::MultiItem(), ServerOptions(), OneByOne()}) {
    FakeServer server(options);
    server.cluster.BreakToken(23);
    const auto response = Score(server, Example());
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, 500);
    EXPECT_EQ(response.error().param, "items[1]");
    json request = Example();
    request["items"] = {Ids{21}};
    EXPECT_EQ(ResponseTo(server, request).scores_size(), 1);
  }
}

TEST(ScoreEndpoint, ADeadlineCountsFromTheArrival) {
  FakeServer server;
  json request = Example();
  request["timeout_ms"] = 1000;
  const auto response = Ask<v1::ScoreResponse>(server.service, ScoreEndpoint(), request,
                                               Clock::now() - std::chrono::seconds(2));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, 504);
  EXPECT_TRUE(server.cluster.plans().empty());
}

TEST(ScoreEndpoint, TimingsAddUp) {
  FakeServer server;
  const v1::Timings timings = ResponseTo(server, Example()).timings();
  EXPECT_GE(timings.queue_ms(), 0);
  EXPECT_GE(timings.tokenize_ms(), 0);
  EXPECT_GT(timings.forward_ms(), 0);
  EXPECT_GE(timings.total_ms() + 1e-6,
            timings.queue_ms() + timings.tokenize_ms() + timings.forward_ms());
}

TEST(ScoreEndpoint, RequestsFromManyThreadsAreNotMixedUp) {
  FakeServer server;
  FakeServer alone;
  std::vector<std::thread> threads;
  std::vector<std::vector<v1::ScoreResponse>> together(8);
  const auto request = [](int thread, int i) {
    json scored = Example();
    scored["query"] = Ids{thread, i};
    return scored;
  };
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        together[static_cast<std::size_t>(t)].push_back(
            Ask<v1::ScoreResponse>(server.service, ScoreEndpoint(), request(t, i)).value());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  server.scheduler.WaitIdle();
  for (int t = 0; t < 8; ++t) {
    for (int i = 0; i < 20; ++i) {
      const v1::ScoreResponse& response =
          together[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)];
      EXPECT_EQ(RowsOf(response.scores()), RowsOf(ResponseTo(alone, request(t, i)).scores()))
          << t << " " << i;
    }
  }
}

}  // namespace score_endpoint_test
}  // namespace scorecast::coordinator
