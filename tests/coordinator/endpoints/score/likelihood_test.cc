// Likelihoods of items, computed by FakeCluster's model. The expected values are those of single
// rows.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/response_values.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace likelihood_test {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ids = std::vector<TokenId>;

v1::ScoreResponse ResponseTo(FakeServer& server, json request) {
  request["likelihood"] = true;
  auto response = Ask<v1::ScoreResponse>(server.service, ScoreEndpoint(), request);
  server.scheduler.WaitIdle();
  return ValueOrFail(std::move(response));
}

struct Likelihood {
  std::vector<double> logprobs;
  bool is_greedy = true;
};

/// The tokens of `ids` from `first` on.
Likelihood LikelihoodOf(const Ids& ids, std::size_t first) {
  const proto::PackedSequence sequence = PackChunks(ids, {}, {}, ChunkPositionStrategy::kShared);
  Likelihood likelihood;
  for (std::size_t i = first; i < ids.size(); ++i) {
    const proto::RowRead read{
        .row = static_cast<std::int32_t>(i) - 1, .normalizer = true, .top_k = 1, .target = ids[i]};
    const proto::RowLogits row = ExpectedRow(sequence, read, FakeServer::kVocabSize);
    likelihood.logprobs.push_back(double{row.target_logit} - double{row.max} -
                                  std::log(row.sum_exp));
    likelihood.is_greedy = likelihood.is_greedy && row.top.front().first == ids[i];
  }
  return likelihood;
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

Ids Together(Ids query, const Ids& item) {
  query.insert(query.end(), item.begin(), item.end());
  return query;
}

const Ids kQuery = {11, 12, 13, 14, 15};

TEST(Likelihood, IsThatOfTheItemsOwnTokens) {
  // The best continuation of the query, and others.
  Ids best = kQuery;
  for (int i = 0; i < 2; ++i) {
    const proto::RowRead read{
        .row = static_cast<std::int32_t>(best.size()) - 1, .normalizer = true, .top_k = 1};
    best.push_back(ExpectedRow(PackChunks(best, {}, {}, ChunkPositionStrategy::kShared), read,
                               FakeServer::kVocabSize)
                       .top.front()
                       .first);
  }
  const std::vector<Ids> items = {{21}, {best[5], best[6]}, {22, 23, 24}, {best[5], 9}};
  const json request = {{"query", kQuery}, {"items", items}};
  for (const bool one_by_one : {false, true}) {
    ServerOptions options;
    options.one_by_one = one_by_one;
    FakeServer server(options);
    server.cluster.ForgetPlans();
    const v1::ScoreResponse response = ResponseTo(server, request);
    EXPECT_THAT(server.cluster.plans(), SizeIs(1)) << "all items in one pass";
    ASSERT_EQ(response.token_logprobs_size(), 4);
    for (int i = 0; i < 4; ++i) {
      const Likelihood expected =
          LikelihoodOf(Together(kQuery, items[static_cast<std::size_t>(i)]), kQuery.size());
      EXPECT_EQ(NumbersOf(response.token_logprobs(i)), expected.logprobs) << i;
      EXPECT_THAT(NumbersOf(response.scores(i)), ElementsAre(Sum(expected.logprobs)));
      EXPECT_EQ(response.is_greedy(i), expected.is_greedy);
    }
    EXPECT_TRUE(response.is_greedy(1));
    EXPECT_FALSE(response.is_greedy(3));
  }
}

TEST(Likelihood, MayBeAMean) {
  FakeServer server(ServerOptions{});
  json request = {{"query", "once"}, {"items", json::array({" upon", "!"})}};
  const v1::ScoreResponse sums = ResponseTo(server, request);
  request["normalize"] = "mean";
  const v1::ScoreResponse means = ResponseTo(server, request);
  request["normalize"] = "bytes";
  const v1::ScoreResponse bytes = ResponseTo(server, request);
  EXPECT_EQ(sums.token_logprobs(0).values_size(), 5);
  EXPECT_EQ(means.scores(0).values(0), sums.scores(0).values(0) / 5);
  EXPECT_EQ(bytes.scores(0).values(0), sums.scores(0).values(0) / 5);
  EXPECT_EQ(means.scores(1).values(0), sums.scores(1).values(0));
  request.update({{"query", Ids{1, 2}}, {"items", json::array({Ids{258, 65}})}});
  const v1::ScoreResponse ids = ResponseTo(server, request);
  request["normalize"] = "sum";
  EXPECT_EQ(ids.scores(0).values(0), ResponseTo(server, request).scores(0).values(0) / 4)
      << "the bytes of \" no\" and \"A\"";
}

TEST(Likelihood, OfALongRequestTakesSeveralPasses) {
  FakeServer server(ServerOptions{});  // Whose passes have 64 rows.
  Ids query(90);
  std::iota(query.begin(), query.end(), 20);
  Ids item(70);
  std::iota(item.begin(), item.end(), 110);
  const v1::ScoreResponse response =
      ResponseTo(server, {{"query", query}, {"items", json::array({item, Ids{7}})}});
  EXPECT_EQ(NumbersOf(response.token_logprobs(0)),
            LikelihoodOf(Together(query, item), query.size()).logprobs);
  EXPECT_EQ(NumbersOf(response.token_logprobs(1)),
            LikelihoodOf(Together(query, {7}), query.size()).logprobs);
}

TEST(Likelihood, HasEmptyListsWithoutItems) {
  FakeServer server(ServerOptions{});
  const v1::ScoreResponse response = ResponseTo(server, {{"query", "a"}, {"items", json::array()}});
  EXPECT_THAT(response.scores(), IsEmpty());
}

struct Server : CheckingServer {
  auto Prepare(const std::string& body) const {
    return PrepareBody(ScoreEndpoint(), body, context());
  }
};

class LikelihoodValidation : public ValidationTest<Server> {};

TEST_F(LikelihoodValidation, WhatContradictsItIsRefused) {
  const std::array<std::array<std::string, 3>, 9> cases = {{
      {R"("labels":[" yes"])", "not_supported", "labels"},
      {R"("labels":[])", "not_supported", "labels"},
      {R"("label_token_ids":[1])", "not_supported", "label_token_ids"},
      {R"("apply_softmax":true)", "not_supported", "apply_softmax"},
      {R"("item_first":true)", "not_supported", "item_first"},
      {R"("top_logprobs":1)", "not_supported", "top_logprobs"},
      {R"("score_extraction_token":"x")", "not_supported", "score_extraction_token"},
      {R"("normalize":"tokens")", "unknown_normalize", "normalize"},
      {R"("items":["b",""])", "empty_item", "items[1]"},
  }};
  for (const auto& [fields, reason, param] : cases) {
    const std::string items = fields.starts_with(R"("items)") ? "" : R"("items":["b"],)";
    ExpectRefused({}, R"({"query":"a","likelihood":true,)" + items + fields + "}", reason, param);
  }
  ExpectRefused({}, R"({"query":"a","items":["b"],"labels":[" yes"],"normalize":"sum"})",
                "normalize_without_likelihood", "normalize");
  Server sglang;
  sglang.options_.delimiter = kDelimiter;
  ExpectRefused(sglang, R"({"query":"a","items":["b"],"likelihood":true})", "not_supported",
                "likelihood");
  Server without_tokenizer;
  without_tokenizer.tokenizer_ = nullptr;
  ExpectRefused(without_tokenizer,
                R"({"query":[1],"items":[[2]],"likelihood":true,"normalize":"bytes"})",
                "no_tokenizer", "normalize");
  ExpectAccepted({}, R"({"query":"a","items":["b"],"likelihood":true,"labels":null})");
}

}  // namespace likelihood_test
}  // namespace scorecast::coordinator
