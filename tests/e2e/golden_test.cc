// Requests give the results of other implementations on one rank and on several, and the same
// results on both. engine_golden_test shows the same of the engine on 1, 2, 3 and 4 ranks.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"

namespace scorecast::testing {
namespace golden_test {

using nlohmann::json;
using reference::MultiItemCase;
using reference::TextCase;

/// The promised largest error of a float32 log-probability against the references.
constexpr double kTolerance = 1e-4;
/// The promised largest difference between numbers of ranks: absolute for values up to 1, relative
/// above, because float32 logits are rounded relative to their size.
constexpr double kRankTolerance = 1e-5;

/// [1 + items][labels]: the query's row, if the response has one, then the items' rows.
std::vector<std::vector<double>> LogProbRows(const json& body) {
  std::vector<std::vector<double>> rows;
  if (body.contains("query_token_logprobs")) {
    rows.push_back(body.at("query_token_logprobs"));
  }
  for (const json& row : body.at("token_logprobs")) {
    rows.push_back(row);
  }
  return rows;
}

void ExpectNear(const std::vector<std::vector<double>>& found,
                const std::vector<std::vector<double>>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t row = 0; row < found.size(); ++row) {
    ASSERT_EQ(found[row].size(), expected[row].size());
    for (std::size_t label = 0; label < found[row].size(); ++label) {
      EXPECT_NEAR(found[row][label], expected[row][label], tolerance)
          << "row " << row << ", label " << label;
    }
  }
}

void ExpectAgree(const json& found, const json& expected) {
  for (const char* field : {"scores", "token_logprobs"}) {
    ASSERT_EQ(found.at(field).size(), expected.at(field).size());
    for (std::size_t item = 0; item < expected.at(field).size(); ++item) {
      for (std::size_t label = 0; label < expected.at(field)[item].size(); ++label) {
        const auto value = expected.at(field)[item][label].get<double>();
        EXPECT_NEAR(found.at(field)[item][label].get<double>(), value,
                    kRankTolerance * std::max(1.0, std::abs(value)))
            << field << ", item " << item << ", label " << label;
      }
    }
  }
}

void ExpectTop(const json& found, const std::vector<reference::TopLogProbs>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t row = 0; row < found.size(); ++row) {
    ASSERT_EQ(found[row].size(), expected[row].size());
    for (std::size_t place = 0; place < expected[row].size(); ++place) {
      EXPECT_EQ(found[row][place][0], expected[row][place].first) << row << ", " << place;
      EXPECT_NEAR(found[row][place][1].get<double>(), expected[row][place].second, kTolerance);
    }
  }
}

/// Runs the command on one rank and on several. Every run must score every line and pass `check`.
template <typename Check>
void OnAllRanks(BatchCommand command, const std::vector<json>& bodies, const Check& check) {
  std::optional<BatchRun> alone;
  for (const int ranks : {1, SeveralRanks()}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    command.ranks = ranks;
    command.dtype = "f32";
    const BatchRun run = RunBatch(command, bodies);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ASSERT_EQ(run.lines.size(), bodies.size());
    check(run);
    if (!alone) {
      alone = run;
    }
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      ExpectAgree(run.Body(i), alone->Body(i));
    }
  }
}

/// A model, and the directory of the other implementation's results.
struct Reference {
  std::string name;
  std::filesystem::path model;
  std::filesystem::path golden;
};

void PrintTo(const Reference& reference, std::ostream* out) { *out << reference.name; }

Reference SharedReference(const std::string& name) {
  const std::filesystem::path dir =
      std::filesystem::path(reference::kSharedDirectory) / "models" / name;
  return {name, dir, dir};
}

/// The model of ./demo: `form` is "ids" or "text".
Reference DemoReference(const std::string& form) {
  return {"demo_model", DemoModelDirectory(), DemoModelDirectory() / "../goldens" / form};
}

/// References with token ids: the golden families and the model of ./demo.
std::vector<Reference> IdReferences() {
  std::vector<Reference> references = {DemoReference("ids")};
  for (const std::string_view family : reference::kGoldenFamilies) {
    const std::string name(family);
    references.push_back({name, FamilyDirectory(name), FamilyDirectory(name)});
  }
  return references;
}

std::string TestName(const ::testing::TestParamInfo<Reference>& test) {
  std::string name = test.param.name;
  std::erase(name, '-');
  return name;
}

class Family : public ::testing::TestWithParam<Reference> {
 protected:
  static json ToBody(const MultiItemCase& one) {
    return {{"query", one.query},
            {"items", one.items},
            {"label_token_ids", one.label_token_ids},
            {"return_token_logprobs", true},
            {"top_logprobs", 5}};
  }

  const std::filesystem::path dir_ = GetParam().model;
  const reference::FamilyGolden golden_ = reference::LoadFamilyGolden(GetParam().golden);
};

TEST_P(Family, HiddenDelimiter) {
  // A hidden delimiter is never computed, so one delimiter that no case contains serves for all of
  // them.
  constexpr char kUnused[] = "2";
  std::vector<json> bodies;
  for (const MultiItemCase& one : golden_.multi_item) {
    bodies.push_back(ToBody(one));
  }
  OnAllRanks({dir_, {"--multi-item-scoring-delimiter", kUnused}}, bodies, [&](const BatchRun& run) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const reference::GoldenRows& expected = golden_.multi_item[i].hidden;
      ExpectNear(LogProbRows(run.Body(i)), expected.label_logprobs, kTolerance);
      ExpectTop(run.Body(i).at("top_logprobs"), expected.top_logprobs);
    }
  });
}

// Without a delimiter, only the items' rows are read.
TEST_P(Family, NoDelimiter) {
  std::vector<json> bodies;
  for (const MultiItemCase& one : golden_.multi_item) {
    bodies.push_back(ToBody(one));
  }
  OnAllRanks({dir_, {}}, bodies, [&](const BatchRun& run) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      reference::GoldenRows expected = golden_.multi_item[i].hidden;
      expected.label_logprobs.erase(expected.label_logprobs.begin());
      expected.top_logprobs.erase(expected.top_logprobs.begin());
      ExpectNear(LogProbRows(run.Body(i)), expected.label_logprobs, kTolerance);
      ExpectTop(run.Body(i).at("top_logprobs"), expected.top_logprobs);
    }
  });
}

TEST_P(Family, FirstDelimiterVisible) {
  for (const MultiItemCase& one : golden_.multi_item) {
    SCOPED_TRACE("delimiter " + std::to_string(one.delimiter));
    const std::vector<json> bodies = {ToBody(one)};
    const BatchCommand command = {dir_,
                                  {"--multi-item-scoring-delimiter", std::to_string(one.delimiter),
                                   "--delimiter-visibility", "first"}};
    const auto check = [&](const BatchRun& run) {
      ExpectNear(LogProbRows(run.Body(0)), one.first.label_logprobs, kTolerance);
      ExpectTop(run.Body(0).at("top_logprobs"), one.first.top_logprobs);
    };
    // Each case is a run of its own, because the delimiter is a flag. Only one runs on all ranks.
    if (&one == &golden_.multi_item.front()) {
      OnAllRanks(command, bodies, check);
    } else {
      check(RunBatch({dir_, command.flags, 0, "f32"}, bodies));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Family, ::testing::ValuesIn(IdReferences()), TestName);

/// Probabilities and softmax of golden.json are rounded to nine decimals.
constexpr double kRounding = 0.5e-9;

class Text : public ::testing::TestWithParam<Reference> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().golden / "golden.json")) {
      GTEST_SKIP() << "no reference model at " << GetParam().golden;
    }
    golden_ = reference::LoadTextGolden(GetParam().golden);
  }

  /// Each case twice: probabilities over the vocabulary, then softmax over the labels.
  static std::vector<json> Bodies(const std::vector<TextCase>& cases) {
    std::vector<json> bodies;
    for (const TextCase& one : cases) {
      json body = {{"query", one.query},
                   {"items", one.items},
                   {"label_token_ids", one.label_token_ids},
                   {"item_first", one.item_first},
                   {"return_token_logprobs", true}};
      bodies.push_back(body);
      body["apply_softmax"] = true;
      bodies.push_back(body);
    }
    return bodies;
  }

  static void Check(const BatchRun& run, const std::vector<TextCase>& cases) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE("case " + std::to_string(i));
      CheckProbabilities(run.Body(2 * i), cases[i]);
      CheckSoftmax(run.Body(2 * i + 1).at("scores"), cases[i].softmax);
    }
  }

  static void CheckProbabilities(const json& body, const TextCase& one) {
    ASSERT_EQ(body.at("scores").size(), one.items.size());
    for (std::size_t item = 0; item < one.items.size(); ++item) {
      ASSERT_EQ(body.at("scores")[item].size(), one.label_token_ids.size());
      for (std::size_t label = 0; label < one.label_token_ids.size(); ++label) {
        const double expected = one.probabilities[item][label];
        const double found = body.at("scores")[item][label].get<double>();
        // The log-probability is within the tolerance of one that rounds to the expected
        // probability.
        EXPECT_GE(found, (expected - kRounding) * std::exp(-kTolerance));
        EXPECT_LE(found, (expected + kRounding) * std::exp(kTolerance));
        const double logprob = body.at("token_logprobs")[item][label].get<double>();
        EXPECT_NEAR(std::exp(logprob), found, 1e-12 * found);
      }
    }
  }

  static void CheckSoftmax(const json& scores, const std::vector<std::vector<double>>& expected) {
    ASSERT_EQ(scores.size(), expected.size());
    for (std::size_t item = 0; item < expected.size(); ++item) {
      ASSERT_EQ(scores[item].size(), expected[item].size());
      for (std::size_t label = 0; label < expected[item].size(); ++label) {
        // d softmax_i = s_i (d_i - sum_j s_j d_j). The second factor is at most 2 (1 - s_i) |d|.
        const double s = expected[item][label];
        EXPECT_NEAR(scores[item][label].get<double>(), s,
                    2 * kTolerance * s * (1 - s) + 2 * kRounding);
      }
    }
  }

  const std::filesystem::path dir_ = GetParam().model;
  reference::TextGolden golden_;
};

TEST_P(Text, MultiItem) {
  const std::vector<json> bodies = Bodies(golden_.multi_item);
  OnAllRanks({dir_, {"--multi-item-scoring-delimiter", golden_.delimiter_text}}, bodies,
             [&](const BatchRun& run) { Check(run, golden_.multi_item); });
}

// Without a delimiter, items continue the query. If a request asks for it, they come before the
// query.
TEST_P(Text, OneByOneAndByDefault) {
  const std::vector<json> bodies = Bodies(golden_.one_by_one);
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--one-by-one"}, {}}) {
    OnAllRanks({dir_, flags}, bodies, [&](const BatchRun& run) { Check(run, golden_.one_by_one); });
  }
}

// Items that continue the query have the same scores in one pass as one by one, with a delimiter,
// too.
TEST_P(Text, OneByOneCasesInOnePass) {
  std::vector<TextCase> cases = golden_.one_by_one;
  std::erase_if(cases, [](const TextCase& one) { return one.item_first; });
  ASSERT_FALSE(cases.empty());
  const std::vector<json> bodies = Bodies(cases);
  OnAllRanks({dir_,
              {"--multi-item-scoring-delimiter", golden_.delimiter_text, "--item-tokenization",
               "continued"}},
             bodies, [&](const BatchRun& run) { Check(run, cases); });
}

INSTANTIATE_TEST_SUITE_P(All, Text,
                         ::testing::Values(SharedReference("qwen3-tiny"),
                                           SharedReference("llama2-tiny"), DemoReference("text")),
                         TestName);

}  // namespace golden_test
}  // namespace scorecast::testing
