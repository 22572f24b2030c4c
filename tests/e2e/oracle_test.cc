// Text through both transports agrees with the dense-mask oracle, which computes on the ids that
// the tokenizers' reference libraries give. Needs only files of this repository.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace oracle_test {

using nlohmann::json;

/// The promised largest error of a float32 log-probability against the oracle.
constexpr double kTolerance = 1e-4;
const std::vector<TokenId> kLabels = {300, 17, 655};

struct TokenizerCase {
  const char* name;
  std::vector<TokenId> bos;
  const char* delimiter;
  TokenId delimiter_id;
};

void PrintTo(const TokenizerCase& one, std::ostream* out) { *out << one.name; }

class TextOracle : public ::testing::TestWithParam<TokenizerCase> {
 protected:
  TextVector Vector(const std::string& text) const { return VectorOf(GetParam().name, text); }

  std::vector<TokenId> WithBos(const std::vector<TokenId>& ids) const {
    std::vector<TokenId> all = GetParam().bos;
    all.insert(all.end(), ids.begin(), ids.end());
    return all;
  }

  static void ExpectRow(const json& logprobs, const std::vector<double>& oracle) {
    ASSERT_EQ(logprobs.size(), kLabels.size());
    for (std::size_t label = 0; label < kLabels.size(); ++label) {
      EXPECT_NEAR(logprobs[label].get<double>(), oracle[static_cast<std::size_t>(kLabels[label])],
                  kTolerance)
          << "label " << label;
    }
  }

  static void ExpectTop(const json& top, const std::vector<double>& oracle) {
    double last = 0;
    for (const json& pair : top) {
      EXPECT_NEAR(pair[1].get<double>(), oracle.at(pair[0].get<std::size_t>()), kTolerance);
      EXPECT_LE(pair[1].get<double>(), last);
      last = pair[1].get<double>();
    }
    for (std::size_t id = 0; id < oracle.size(); ++id) {
      const bool is_in = std::any_of(top.begin(), top.end(), [&](const json& pair) {
        return pair[0].get<std::size_t>() == id;
      });
      EXPECT_TRUE(is_in || oracle[id] <= last + kTolerance) << id;
    }
  }

  const std::filesystem::path dir_ = MakeModel(GetParam().name);
  const reference::ReferenceModel oracle_{dir_};
  const std::vector<std::string> queries_ = {"The harbour is open.", "日本語", "naïve café"};
  // Unicode, an empty item, and single characters.
  const std::vector<std::string> items_ = {" harbour",      " 日本語", "",  "emoji 🎉",
                                           "Hello, world!", "한국어",  "a", " "};
};

TEST_P(TextOracle, MultiItem) {
  for (const bool first : {false, true}) {
    std::vector<json> bodies;
    for (const std::string& query : queries_) {
      bodies.push_back({{"query", query},
                        {"items", items_},
                        {"label_token_ids", kLabels},
                        {"return_token_logprobs", true},
                        {"top_logprobs", 7}});
    }
    const BatchRun run = RunBatch({dir_,
                                   {"--multi-item-scoring-delimiter", GetParam().delimiter,
                                    "--delimiter-visibility", first ? "first" : "hidden"},
                                   2,
                                   "f32"},
                                  bodies);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    std::vector<std::vector<TokenId>> items;
    for (const std::string& item : items_) {
      items.push_back(Vector(item).ids);
    }
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      std::vector<TokenId> prefix = WithBos(Vector(queries_[q]).ids);
      if (first) {
        prefix.push_back(GetParam().delimiter_id);
      }
      const std::vector<std::vector<double>> rows = OracleRows(oracle_, prefix, items);
      const json body = run.Body(q);
      ExpectRow(body.at("query_token_logprobs"), rows[0]);
      ExpectTop(body.at("top_logprobs")[0], rows[0]);
      std::size_t tokens = prefix.size();
      for (std::size_t i = 0; i < items.size(); ++i) {
        SCOPED_TRACE("item " + std::to_string(i));
        ExpectRow(body.at("token_logprobs")[i], rows[i + 1]);
        ExpectTop(body.at("top_logprobs")[i + 1], rows[i + 1]);
        tokens += items[i].size();
      }
      EXPECT_EQ(body.at("usage").at("prompt_tokens"), tokens);
      EXPECT_EQ(body.at("usage").at("total_tokens"), tokens);
      EXPECT_EQ(body.at("usage").at("completion_tokens"), 0);
    }
  }
}

TEST_P(TextOracle, OneByOneTokenizesQueryAndItemAsOneText) {
  // The tokens of each whole text differ from those of its two parts.
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"The har", "bour is open."}, {"Hello, wor", "ld!"}, {"naïve", " café"}, {"日本", "語"}};
  std::vector<json> bodies;
  for (const auto& [head, tail] : parts) {
    json body = {{"query", head},
                 {"items", {tail}},
                 {"label_token_ids", kLabels},
                 {"return_token_logprobs", true},
                 {"top_logprobs", 7}};
    bodies.push_back(body);
    body["query"] = tail;
    body["items"] = head;  // A string is one item.
    body["item_first"] = true;
    bodies.push_back(body);
  }
  const BatchRun run = RunBatch({dir_, {"--one-by-one"}, 2, "f32"}, bodies);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    SCOPED_TRACE(bodies[i].dump());
    const auto& [head, tail] = parts[i / 2];
    const std::vector<TokenId> prompt = WithBos(Vector(head + tail).ids);
    const std::vector<double> row = OracleRows(oracle_, prompt, {})[0];
    ExpectRow(run.Body(i).at("token_logprobs")[0], row);
    ExpectTop(run.Body(i).at("top_logprobs")[0], row);
    EXPECT_EQ(run.Body(i).at("usage").at("prompt_tokens"), prompt.size());
    EXPECT_FALSE(run.Body(i).contains("query_token_logprobs"));
  }
}

TEST_P(TextOracle, TextScoresLikeItsIds) {
  std::vector<json> bodies;
  for (const std::string& query : queries_) {
    json items = json::array();
    for (const std::string& item : items_) {
      items.push_back(Vector(item).ids);
    }
    const json rest = {{"label_token_ids", kLabels}, {"return_token_logprobs", true}};
    json text = rest;
    text["query"] = query;
    text["items"] = items_;
    json ids = rest;
    ids["query"] = WithBos(Vector(query).ids);  // The program adds no BOS to ids.
    ids["items"] = items;
    bodies.push_back(text);
    bodies.push_back(ids);
  }
  const BatchRun run =
      RunBatch({dir_, {"--multi-item-scoring-delimiter", GetParam().delimiter}}, bodies);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (std::size_t i = 0; i < bodies.size(); i += 2) {
    EXPECT_EQ(run.StableResponse(i), run.StableResponse(i + 1));
  }
}

INSTANTIATE_TEST_SUITE_P(All, TextOracle,
                         ::testing::Values(TokenizerCase{"digits", {}, "<|endoftext|>", 0},
                                           TokenizerCase{"ignore-merges", {560}, "<|im_end|>", 562},
                                           TokenizerCase{"sentencepiece-bpe", {1}, "</s>", 2}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::erase(name, '-');
                           return name;
                         });

/// Items of one token each. Each gives samples of a precision's error.
std::vector<std::vector<TokenId>> ManyItems() {
  std::vector<std::vector<TokenId>> items;
  for (TokenId id = 100; id < 200; ++id) {
    items.push_back({id});
  }
  return items;
}

// Every dtype on every set of kernels that this CPU has. The oracle that rounds as the dtype does
// says how large the error should be.
TEST(Dtypes, ErrorIsThatOfTheRounding) {
  const std::filesystem::path dir = MakeModel("");
  const std::vector<TokenId> query = {1, 9, 8, 4, 5, 6};
  const auto exact = OracleRows(reference::ReferenceModel(dir), query, ManyItems());
  const auto rms = [&](const auto& log_prob) {
    double squares = 0;
    for (std::size_t i = 0; i < ManyItems().size(); ++i) {
      for (std::size_t label = 0; label < kLabels.size(); ++label) {
        const auto id = static_cast<std::size_t>(kLabels[label]);
        squares += std::pow(log_prob(i, label) - exact[i + 1][id], 2);
      }
    }
    return std::sqrt(squares / static_cast<double>(ManyItems().size() * kLabels.size()));
  };
  for (const auto& [dtype, precision] : {std::pair{"f32", reference::Precision::kExact},
                                         std::pair{"bf16", reference::Precision::kBfloat16},
                                         std::pair{"int8", reference::Precision::kInt8}}) {
    const auto rounded =
        OracleRows(reference::ReferenceModel(dir, {precision}), query, ManyItems());
    const double of_rounding = rms([&](std::size_t i, std::size_t label) {
      return rounded[i + 1][static_cast<std::size_t>(kLabels[label])];
    });
    for (const char* kernel : {"auto", "avx2", "generic"}) {
      SCOPED_TRACE(std::string(dtype) + " " + kernel);
      const BatchRun run =
          RunBatch({dir, {"--multi-item-scoring-delimiter", "7", "--kernel", kernel}, 0, dtype},
                   {{{"query", query},
                     {"items", ManyItems()},
                     {"label_token_ids", kLabels},
                     {"return_token_logprobs", true}}});
      if (run.exit_code == 1 && run.err.find("this CPU has") != std::string::npos) {
        continue;
      }
      ASSERT_EQ(run.exit_code, 0) << run.err;
      const json log_probs = run.Body(0).at("token_logprobs");
      const double found =
          rms([&](std::size_t i, std::size_t label) { return log_probs[i][label].get<double>(); });
      if (precision == reference::Precision::kExact) {
        EXPECT_LE(found, kTolerance);
        continue;
      }
      // Each RMS has 100 independent samples, one for each item, so it scatters by 1/√200 = 7 %.
      EXPECT_LE(found, 1.3 * of_rounding);
      EXPECT_GE(found, of_rounding / 1.3);
    }
  }
}

}  // namespace oracle_test
}  // namespace scorecast::testing
