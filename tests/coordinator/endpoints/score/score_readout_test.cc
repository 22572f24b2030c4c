#include "coordinator/endpoints/score/score_readout.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/endpoints/response_values.h"

namespace scorecast::coordinator {
namespace score_readout_test {

using proto::RowLogits;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;

// A few roundings of float64 in numbers of magnitude at most 10.
constexpr double kRounding = 1e-14;

RowLogits Row(const std::vector<float>& labels, float max, double sum_exp) {
  RowLogits row;
  row.label_logits = labels;
  row.max = max;
  row.sum_exp = sum_exp;
  return row;
}

ScoreReadout Items(std::size_t n) {
  ScoreReadout readout;
  readout.item_rows.resize(n);
  std::iota(readout.item_rows.begin(), readout.item_rows.end(), std::size_t{0});
  return readout;
}

proto::Expected<v1::ScoreResponse> Respond(ScoreReadout readout, const JobRows& rows) {
  auto response = readout.Respond(rows);
  if (!response) {
    return proto::Unexpected(std::move(response).error());
  }
  return static_cast<const v1::ScoreResponse&>((*response)->message());
}

TEST(Scores, ProbabilitiesOverTheVocabulary) {
  // The only logits are 2, 1 and 0: the maximum is 2, the sum 1 + e^-1 + e^-2.
  const double sum = 1 + std::exp(-1.0) + std::exp(-2.0);
  ScoreReadout readout = Items(1);
  readout.row.token_logprobs = true;
  const auto response = Respond(readout, {{Row({1, 2}, 2, sum)}});
  ASSERT_TRUE(response.has_value());
  EXPECT_THAT(
      response.value().scores(0).values(),
      ElementsAre(DoubleNear(std::exp(-1.0) / sum, kRounding), DoubleNear(1 / sum, kRounding)));
  EXPECT_THAT(response.value().token_logprobs(0).values(),
              ElementsAre(DoubleNear(-1 - std::log(sum), kRounding),
                          DoubleNear(-std::log(sum), kRounding)));
  EXPECT_FALSE(response.value().has_query_token_logprobs());
  EXPECT_EQ(response.value().top_logprobs_size(), 0);
}

TEST(Scores, SoftmaxOverLabelsInTheirOrderWithTemperature) {
  ScoreReadout readout = Items(2);
  readout.row.kind = ScoreKind::kSoftmax;
  readout.row.temperature = 0.5;
  // There is no normaliser, because only the labels were computed.
  const auto response = Respond(readout, {{Row({1, 2}, 0, 0)}, {Row({-700, -700}, 0, 0)}});
  ASSERT_TRUE(response.has_value());
  const double low = std::exp(-2.0);
  EXPECT_THAT(
      response.value().scores(0).values(),
      ElementsAre(DoubleNear(low / (1 + low), kRounding), DoubleNear(1 / (1 + low), kRounding)));
  EXPECT_THAT(response.value().scores(1).values(), ElementsAre(0.5, 0.5));
}

TEST(Scores, SoftmaxHasTheSameBitsIfLogProbabilitiesAreWantedToo) {
  ScoreReadout readout = Items(1);
  readout.row.kind = ScoreKind::kSoftmax;
  readout.row.temperature = 0.7;
  const std::vector<std::vector<RowLogits>> rows = {{Row({0.123F, 4.5F, -3.25F}, 4.5F, 1.75)}};
  const auto alone = Respond(readout, rows);
  readout.row.token_logprobs = true;
  const auto both = Respond(readout, rows);
  EXPECT_EQ(RowsOf(alone.value().scores()), RowsOf(both.value().scores()));
}

TEST(Scores, LogitsOfClasses) {
  ScoreReadout readout = Items(1);
  readout.row.kind = ScoreKind::kLogit;
  const auto response = Respond(readout, {{Row({-1.25F, 0.1F, 3e38F}, 0, 0)}});
  ASSERT_TRUE(response.has_value());
  EXPECT_THAT(RowsOf(response.value().scores()), ElementsAre(ElementsAre(-1.25F, 0.1F, 3e38F)));
}

TEST(Scores, SigmoidOfEachClass) {
  ScoreReadout readout = Items(2);
  readout.row.kind = ScoreKind::kSigmoid;
  const auto response =
      Respond(readout, {{Row({0, 2, -2}, 0, 0)}, {Row({3e38F, -3e38F, -700}, 0, 0)}});
  ASSERT_TRUE(response.has_value());
  const double of_two = 1 / (1 + std::exp(-2.0));
  EXPECT_THAT(response.value().scores(0).values(),
              ElementsAre(0.5, DoubleNear(of_two, kRounding), DoubleNear(1 - of_two, kRounding)));
  EXPECT_THAT(response.value().scores(1).values(), ElementsAre(1, 0, std::exp(-700.0)));
}

TEST(Scores, ALogitThatIsNotFiniteIsAFaultInEveryKind) {
  for (const ScoreKind kind :
       {ScoreKind::kProbability, ScoreKind::kSoftmax, ScoreKind::kLogit, ScoreKind::kSigmoid}) {
    for (const float logit :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      ScoreReadout readout = Items(1);
      readout.row.kind = kind;
      const auto response = Respond(readout, {{Row({logit}, 0, 1)}});
      ASSERT_FALSE(response.has_value());
      EXPECT_EQ(response.error().reason, "not_finite");
    }
  }
}

TEST(Scores, ExtremeTemperaturesStayFinite) {
  ScoreReadout readout = Items(1);
  readout.row.kind = ScoreKind::kSoftmax;
  for (const double temperature :
       {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()}) {
    readout.row.temperature = temperature;
    const auto response = Respond(readout, {{Row({1, 2}, 0, 0)}});
    ASSERT_TRUE(response.has_value());
    EXPECT_DOUBLE_EQ(response.value().scores(0).values(0) + response.value().scores(0).values(1),
                     1.0);
  }
}

TEST(Scores, QueryRowAndBestTokens) {
  ScoreReadout readout = Items(1);
  readout.query_row = true;
  readout.query_token_logprobs = true;
  readout.row.token_logprobs = true;
  readout.row.top_logprobs = true;
  RowLogits query = Row({0}, 1, 2);
  query.top = {{7, 1.0F}, {3, 0.5F}};
  RowLogits item = Row({0}, 0, 1);
  // The first two differ as floats, but not as log-probabilities, so they are ordered by id.
  item.max = 5;
  item.top = {{9, 2e-30F}, {4, 1e-30F}, {2, -1.0F}};
  const auto response = Respond(readout, {{query, item}});
  ASSERT_TRUE(response.has_value());
  EXPECT_THAT(response.value().query_token_logprobs().values(),
              ElementsAre(DoubleNear(-1 - std::log(2.0), kRounding)));
  EXPECT_EQ(response.value().scores_size(), 1);
  ASSERT_EQ(response.value().top_logprobs_size(), 2);
  EXPECT_THAT(TopOf(response.value().top_logprobs(0)),
              ElementsAre(Pair(7, -std::log(2.0)), Pair(3, -0.5 - std::log(2.0))));
  EXPECT_THAT(TopOf(response.value().top_logprobs(1)),
              ElementsAre(Pair(4, -5.0), Pair(9, -5.0), Pair(2, -6.0)));
}

TEST(Scores, ItemsMayBeReadInAnotherOrder) {
  ScoreReadout readout = Items(3);
  readout.item_rows = {2, 0, 1};
  readout.query_row = true;
  readout.row.token_logprobs = true;
  const auto response =
      Respond(readout, {{Row({9}, 0, 1), Row({-1}, 0, 1)}, {Row({-2}, 0, 1)}, {Row({-3}, 0, 1)}});
  ASSERT_TRUE(response.has_value());
  EXPECT_THAT(RowsOf(response.value().token_logprobs()),
              ElementsAre(ElementsAre(-3), ElementsAre(-1), ElementsAre(-2)));
}

TEST(Scores, AnItemMayHaveSeveralRows) {
  ScoreReadout readout = Items(2);
  readout.item_rows = {1, 0};
  readout.occurrences = {2, 1};
  readout.row.kind = ScoreKind::kLogit;
  const auto response = Respond(readout, {{Row({1}, 0, 0)}, {Row({2}, 0, 0), Row({3}, 0, 0)}});
  ASSERT_TRUE(response.has_value());
  EXPECT_THAT(RowsOf(response.value().scores()),
              ElementsAre(ElementsAre(2), ElementsAre(3), ElementsAre(1)));
  EXPECT_THAT(response.value().occurrences(), ElementsAre(2, 1));
  const auto broken = Respond(
      readout,
      {{Row({1}, 0, 0)}, {Row({2}, 0, 0), Row({std::numeric_limits<float>::infinity()}, 0, 0)}});
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().param, "items[0]");
}

TEST(Scores, ANumberThatIsNotFiniteIsAnErrorThatNamesTheItem) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto param = [](const ScoreReadout& readout, std::vector<RowLogits> rows) -> std::string {
    const auto response = Respond(readout, {std::move(rows)});
    if (response) {
      return "none";
    }
    EXPECT_EQ(response.error().code, 500);
    EXPECT_EQ(response.error().reason, "not_finite");
    return response.error().param;
  };
  const RowLogits good = Row({0, 1}, 1, 2);
  EXPECT_EQ(param(Items(2), {good, good}), "none");
  EXPECT_EQ(param(Items(2), {good, Row({0, nan}, 1, 2)}), "items[1]");
  EXPECT_EQ(param(Items(2), {good, Row({0, -inf}, 1, 2)}), "items[1]");
  EXPECT_EQ(param(Items(2), {Row({0, 1}, nan, 2), good}), "items[0]");
  EXPECT_EQ(param(Items(2), {Row({0, 1}, 1, nan), good}), "items[0]");
  EXPECT_EQ(param(Items(2), {Row({0, 1}, 1, std::numeric_limits<double>::infinity()), good}),
            "items[0]");
  ScoreReadout softmax = Items(2);
  softmax.row.kind = ScoreKind::kSoftmax;
  EXPECT_EQ(param(softmax, {good, Row({nan, 1}, 0, 0)}), "items[1]");
  EXPECT_EQ(param(softmax, {good, Row({inf, 1}, 0, 0)}), "items[1]");
  ScoreReadout with_query = Items(1);
  with_query.query_row = true;
  with_query.query_token_logprobs = true;
  EXPECT_EQ(param(with_query, {Row({0}, nan, 1), good}), "query");
  ScoreReadout top = softmax;
  top.item_rows = {0};
  top.row.top_logprobs = true;
  RowLogits bad_top = good;
  bad_top.top = {{3, nan}};
  EXPECT_EQ(param(top, {bad_top}), "items[0]");
}

}  // namespace score_readout_test
}  // namespace scorecast::coordinator
