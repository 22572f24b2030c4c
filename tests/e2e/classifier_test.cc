// Classifiers through both transports: class logits of other implementations and of the oracle on
// one rank and three, in every mode; activations; the same bits in any company; refusals.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/reference_model.h"

namespace scorecast::testing {
namespace classifier_test {

using nlohmann::json;
using reference::ClassifierCase;
using Ids = std::vector<TokenId>;
using Rows = std::vector<std::vector<double>>;

/// The promised largest error of a logit against the references.
constexpr double kTolerance = 1e-4;

void ExpectNear(const json& scores, const Rows& expected, double tolerance = kTolerance) {
  const Rows found = scores;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t item = 0; item < found.size(); ++item) {
    ASSERT_EQ(found[item].size(), expected[item].size());
    for (std::size_t i = 0; i < found[item].size(); ++i) {
      EXPECT_NEAR(found[item][i], expected[item][i], tolerance)
          << "item " << item << ", class " << i;
    }
  }
}

Rows Softmax(Rows rows, double temperature) {
  for (std::vector<double>& row : rows) {
    double sum = 0;
    for (double& x : row) {
      x = std::exp(x / temperature);
      sum += x;
    }
    for (double& x : row) {
      x /= sum;
    }
  }
  return rows;
}

Rows Sigmoid(Rows rows) {
  for (std::vector<double>& row : rows) {
    for (double& x : row) {
      x = 1 / (1 + std::exp(-x));
    }
  }
  return rows;
}

json With(json body, const json& fields) {
  body.update(fields);
  return body;
}

/// Runs the requests on one rank and on three. Each run must succeed.
template <typename Check>
void OnAllRanks(BatchCommand command, const std::vector<EndpointRequest>& requests,
                const Check& check) {
  command.dtype = "f32";
  for (const int ranks : {1, SeveralRanks()}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    command.ranks = ranks;
    const BatchRun run = RunRequests(command, requests);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ASSERT_EQ(run.lines.size(), requests.size());
    check(run);
  }
}

class ClassifierGolden : public ::testing::TestWithParam<std::string_view> {
 protected:
  const std::filesystem::path dir_ = FamilyDirectory(std::string(GetParam()));
  const ClassifierCase golden_ = reference::LoadClassifierGolden(dir_).front();
  const json body_ = {{"query", golden_.query}, {"items", golden_.items}};
};

// As logits, and with every activation.
TEST_P(ClassifierGolden, HiddenDelimiterNoDelimiterAndOneByOne) {
  const std::vector<EndpointRequest> requests = {
      ToScore(body_), ToScore(With(body_, {{"activation", "none"}})),
      ToScore(With(body_, {{"activation", "softmax"}})),
      ToScore(With(body_, {{"apply_softmax", true}, {"temperature", 0.5}})),
      ToScore(With(body_, {{"activation", "sigmoid"}}))};
  const Rows& logits = golden_.class_logits;
  // A hidden delimiter is never computed. No case contains this one.
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--multi-item-scoring-delimiter", "2"}, {}, {"--one-by-one"}}) {
    OnAllRanks({dir_, flags}, requests, [&](const BatchRun& run) {
      ExpectNear(run.Body(0).at("scores"), logits);
      EXPECT_EQ(run.Body(1).at("scores"), run.Body(0).at("scores"));
      ExpectNear(run.Body(2).at("scores"), Softmax(logits, 1));
      ExpectNear(run.Body(3).at("scores"), Softmax(logits, 0.5));
      ExpectNear(run.Body(4).at("scores"), Sigmoid(logits));
      EXPECT_FALSE(run.Body(0).contains("token_logprobs"));
    });
  }
}

// The last token of the query is the delimiter.
TEST_P(ClassifierGolden, FirstDelimiterVisible) {
  Ids query = golden_.query;
  const TokenId delimiter = query.back();
  query.pop_back();
  OnAllRanks({dir_,
              {"--multi-item-scoring-delimiter", std::to_string(delimiter),
               "--delimiter-visibility", "first"}},
             {ToScore(With(body_, {{"query", query}}))}, [&](const BatchRun& run) {
               ExpectNear(run.Body(0).at("scores"), golden_.class_logits);
             });
}

// The query is the system prompt, without and with a chunk. Questions do not see each other.
TEST_P(ClassifierGolden, Chunked) {
  const auto middle = golden_.query.begin() + 4;
  const json whole = {{"system_prompt", golden_.query}, {"questions", golden_.items}};
  const json in_parts = {{"system_prompt", Ids(golden_.query.begin(), middle)},
                         {"chunks", {Ids(middle, golden_.query.end())}},
                         {"questions", golden_.items}};
  OnAllRanks({dir_, {}},
             {ToChunked(whole), ToChunked(in_parts),
              ToChunked(With(in_parts, {{"apply_softmax", true}, {"label_temperature", 2.0}})),
              ToChunked(With(in_parts, {{"activation", "sigmoid"}}))},
             [&](const BatchRun& run) {
               ExpectNear(run.Body(0).at("scores"), golden_.class_logits);
               ExpectNear(run.Body(1).at("scores"), golden_.class_logits);
               ExpectNear(run.Body(2).at("scores"), Softmax(golden_.class_logits, 2));
               ExpectNear(run.Body(3).at("scores"), Sigmoid(golden_.class_logits));
             });
}

INSTANTIATE_TEST_SUITE_P(All, ClassifierGolden, ::testing::ValuesIn(reference::kGoldenClassifiers),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

constexpr TokenId kDelimiter = 7;
const std::vector<std::string> kMultiItem = {"--multi-item-scoring-delimiter", "7"};

Ids Tokens(std::uint64_t seed, std::size_t count) {
  return reference::RandomTokens(seed, count, kModelVocabSize, kDelimiter);
}

std::vector<Ids> Items(std::uint64_t seed) {
  std::vector<Ids> items;
  for (const std::size_t length : {1, 3, 0, 17, 33, 2}) {
    items.push_back(Tokens(seed * 100 + length, length));
  }
  return items;
}

/// The oracle's class logits of the items' last rows.
Rows OracleLogits(const std::filesystem::path& model, const Ids& query,
                  const std::vector<Ids>& items) {
  const reference::PackedLayout layout = reference::LayOut(query, items);
  const auto first = layout.last_rows.begin() + 1;
  return reference::ReferenceModel(model).Logits(
      layout.tokens, layout.segments,
      std::vector<std::int32_t>(first, first + static_cast<std::ptrdiff_t>(items.size())));
}

// One class is on the first of the ranks, and 3000 are on all. The head has a bias. An empty item
// is read at the query's last row.
TEST(Classifier, AgreesWithTheOracle) {
  const Ids query = Tokens(1, 20);
  const std::vector<Ids> items = Items(1);
  for (const std::int64_t classes : {1, 3000}) {
    SCOPED_TRACE(std::to_string(classes) + " classes");
    const std::filesystem::path model = MakeClassifier(classes);
    const Rows expected = OracleLogits(model, query, items);
    for (const std::vector<std::string>& flags : {kMultiItem, {}, {"--one-by-one"}}) {
      OnAllRanks({model, flags},
                 {ToScore({{"query", query}, {"items", items}}),
                  ToScore({{"query", query}, {"items", items}, {"apply_softmax", true}}),
                  ToScore({{"query", query}, {"items", json::array()}})},
                 [&](const BatchRun& run) {
                   ExpectNear(run.Body(0).at("scores"), expected);
                   ExpectNear(run.Body(1).at("scores"), Softmax(expected, 1));
                   EXPECT_EQ(run.Body(2).at("scores"), json::array());
                 });
    }
  }
}

class ClassifierBits : public ::testing::TestWithParam<std::pair<int, std::string>> {};

TEST_P(ClassifierBits, CompanyAndOrderChangeNothing) {
  const auto& [ranks, dtype] = GetParam();
  const std::filesystem::path model = MakeClassifier(5);
  const Ids query = Tokens(2, 30);
  const std::vector<Ids> items = Items(2);
  const std::vector<Ids> reversed(items.rbegin(), items.rend());
  std::vector<json> bodies = {{{"query", query}, {"items", items}},
                              {{"query", query}, {"items", reversed}}};
  for (const Ids& item : items) {
    bodies.push_back({{"query", query}, {"items", {item}}});
  }
  std::vector<json> crowd;
  for (std::uint64_t i = 3; i < 20; ++i) {
    crowd.push_back({{"query", Tokens(i, i)}, {"items", Items(i)}});
  }
  crowd.insert(crowd.begin() + 9, bodies[0]);
  for (const std::vector<std::string>& flags : {kMultiItem, {}, {"--one-by-one"}}) {
    const BatchRun run = RunBatch({model, flags, ranks, dtype}, bodies);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json scores = run.Body(0).at("scores");
    json in_order = run.Body(1).at("scores");
    std::reverse(in_order.begin(), in_order.end());
    EXPECT_EQ(in_order, scores);
    for (std::size_t item = 0; item < items.size(); ++item) {
      EXPECT_EQ(run.Body(2 + item).at("scores")[0], scores[item]) << "item " << item;
    }
    std::vector<std::string> small_passes = flags;
    small_passes.insert(small_passes.end(), {"--max-batch-tokens", "16", "--threads", "2"});
    for (const std::vector<std::string>& others : {flags, small_passes}) {
      const BatchRun amid = RunBatch({model, others, ranks, dtype}, crowd);
      ASSERT_EQ(amid.exit_code, 0) << amid.err;
      EXPECT_EQ(amid.Body(9).at("scores"), scores);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ClassifierBits,
                         ::testing::Values(std::pair{1, "f32"}, std::pair{3, "f32"},
                                           std::pair{2, "bf16"}, std::pair{1, "int8"},
                                           std::pair{3, "int8"}),
                         [](const auto& test) {
                           return std::to_string(test.param.first) + "_" + test.param.second;
                         });

// tests/coordinator/endpoints has every reason for a refusal.
TEST(Classifier, RefusalsNameTheReasonAndTheField) {
  const json score = {{"query", {1, 2}}, {"items", {{3}, {4}}}};
  const json chunked = {{"system_prompt", {1, 2}}, {"question", {3}}};
  struct Refusal {
    EndpointRequest request;
    std::string reason;
    std::string param;
  };
  const std::vector<Refusal> refusals = {
      {ToScore(With(score, {{"label_token_ids", {1}}})), "not_for_classifiers", "label_token_ids"},
      {ToScore(With(score, {{"labels", {"a"}}})), "not_for_classifiers", "labels"},
      {ToScore(With(score, {{"return_token_logprobs", true}})), "not_for_classifiers",
       "return_token_logprobs"},
      {ToScore(With(score, {{"top_logprobs", 1}})), "not_for_classifiers", "top_logprobs"},
      {ToScore(With(score, {{"max_new_tokens", 1}})), "max_new_tokens_not_zero", "max_new_tokens"},
      {ToScore(With(score, {{"activation", "relu"}})), "unknown_activation", "activation"},
      {ToScore(With(score, {{"activation", "none"}, {"apply_softmax", true}})),
       "contradictory_activation", "activation"},
      {ToChunked(With(chunked, {{"label_token_ids", {1}}})), "not_for_classifiers",
       "label_token_ids"},
      {ToChunked(With(chunked, {{"max_new_tokens", 1}})), "not_for_classifiers", "max_new_tokens"},
  };
  std::vector<EndpointRequest> requests;
  for (const Refusal& refusal : refusals) {
    requests.push_back(refusal.request);
  }
  requests.push_back(ToScore(score));
  const BatchRun run = RunRequests({MakeClassifier(2), kMultiItem}, requests);
  EXPECT_EQ(run.exit_code, 3) << run.err;
  ASSERT_EQ(run.lines.size(), requests.size());
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    SCOPED_TRACE(requests[i].body.dump());
    EXPECT_EQ(run.StatusCode(i), 400);
    EXPECT_EQ(run.Body(i).at("reason"), refusals[i].reason);
    EXPECT_EQ(run.Body(i).at("param"), refusals[i].param);
  }
  EXPECT_EQ(run.StatusCode(refusals.size()), 200);

  const BatchRun of_language_model =
      RunRequests({MakeModel(""), {}},
                  {ToScore(With(score, {{"activation", "none"}, {"label_token_ids", {1}}})),
                   ToChunked(With(chunked, {{"activation", "none"}, {"max_new_tokens", 1}}))});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(of_language_model.StatusCode(i), 400);
    EXPECT_EQ(of_language_model.Body(i).at("reason"), "only_for_classifiers");
    EXPECT_EQ(of_language_model.Body(i).at("param"), "activation");
  }
}

}  // namespace classifier_test
}  // namespace scorecast::testing
