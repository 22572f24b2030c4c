// Scores of Qwen3-Reranker's prompts against those that transformers computes for the whole
// strings: tests/golden/make/rerank.py. That the prompts have these tokens is tested by
// rerank_golden_test.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace {

using nlohmann::json;

TEST(RerankScores, AreThoseOfTransformers) {
  const std::filesystem::path model =
      std::filesystem::path(SCORECAST_SHARED_DIR) / "models" / "qwen3-tiny";
  if (!std::filesystem::exists(model)) {
    GTEST_SKIP() << "no reference model at " << model;
  }
  const std::vector<std::string> lines = LinesOf(
      ReadFile(std::filesystem::path(SCORECAST_TESTS_DIR) / "golden" / "rerank" / "model.jsonl"));
  const json yes_and_no = {9693, 2152};
  std::vector<json> bodies;
  for (const std::string& line : lines) {
    const json group = json::parse(line);
    json items = json::array();
    for (json item : group["between"]) {
      item.insert(item.end(), group["suffix"].begin(), group["suffix"].end());
      items.push_back(std::move(item));
    }
    bodies.push_back({{"query", group["prefix"]},
                      {"items", std::move(items)},
                      {"label_token_ids", yes_and_no},
                      {"apply_softmax", true}});
  }
  const BatchRun run = RunBatch({model, {"--rerank-template", "qwen3-reranker"}, 0, "f32"}, bodies);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::size_t scores = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const json expected = json::parse(lines[i])["scores"];
    const json got = run.Body(i).at("scores");
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t j = 0; j < got.size(); ++j, ++scores) {
      EXPECT_NEAR(got[j][0].get<double>(), expected[j].get<double>(), 1e-4) << i << ", " << j;
    }
  }
  EXPECT_EQ(scores, 200u);
}

}  // namespace
}  // namespace scorecast::testing
