// The request socket, HTTP and a batch file give the same responses and errors, bit for bit.

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/http_transport.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace transports_agree_test {

using nlohmann::json;

/// Fields that change which fields and numbers a response has.
const std::vector<json> kOptions = {
    json::object(),
    {{"apply_softmax", true}},
    {{"apply_softmax", true}, {"temperature", 0.7}, {"return_token_logprobs", true}},
    {{"return_token_logprobs", true}},
    {{"top_logprobs", 50}},
    {{"return_token_logprobs", true}, {"top_logprobs", 3}, {"model", "a name"}},
    {{"item_first", true}, {"timeout_ms", 600000}, {"priority", -3}},
    {{"label_token_ids", {{3}, {42, 500}, {500, 3, 42}}}}};

const std::vector<json> kFaults = {{{"max_new_tokens", 1}},
                                   {{"top_logprobs", 51}},
                                   {{"label_token_ids", {1, 720}}},
                                   {{"temperature", 0.0}, {"apply_softmax", true}},
                                   {{"items", {"<|im_end|>", {1}}}}};

/// Text and ids, short and long, each with every one of `patches`.
std::vector<json> Bodies(const std::vector<json>& patches) {
  const std::vector<json> contents = {
      {{"query", "The harbour is open."}, {"items", {" harbour", "", "naïve café 日本語 🎉"}}},
      {{"query", {560, 11, 12}}, {"items", {{20, 21}, {22}, json::array()}}},
      {{"query", std::vector<int>(90, 17)},
       {"items", {std::vector<int>(70, 5), std::vector<int>(3, 6), std::vector<int>(33, 8)}}}};
  std::vector<json> bodies;
  for (const json& content : contents) {
    for (const json& patch : patches) {
      json body = {{"label_token_ids", {300, 17, 655, 0}}};
      body.update(content);
      body.update(patch);
      bodies.push_back(body);
    }
  }
  return bodies;
}

struct Runs {
  BatchRun batch;
  BatchRun socket;
  BatchRun http;
};

Runs RunOnAll(const BatchCommand& command, const std::vector<json>& bodies) {
  std::vector<EndpointRequest> requests;
  std::transform(bodies.begin(), bodies.end(), std::back_inserter(requests), ToScore);
  Runs runs = {RunBatch(command, bodies, Transport::kBatch),
               RunBatch(command, bodies, Transport::kSocket), RunThroughHttp(command, requests)};
  EXPECT_EQ(runs.batch.lines.size(), bodies.size()) << runs.batch.err;
  EXPECT_EQ(runs.socket.lines.size(), bodies.size());
  EXPECT_EQ(runs.http.lines.size(), bodies.size()) << runs.http.err;
  for (std::size_t i = 0; i < std::min(bodies.size(), runs.batch.lines.size()); ++i) {
    EXPECT_EQ(runs.socket.Stable(i), runs.batch.Stable(i)) << bodies[i];
    EXPECT_EQ(runs.http.Stable(i), runs.batch.Stable(i)) << bodies[i];
  }
  return runs;
}

class TransportsAgree : public ::testing::TestWithParam<std::pair<int, std::string>> {};

TEST_P(TransportsAgree, BitForBit) {
  const auto [ranks, dtype] = GetParam();
  const std::filesystem::path model = MakeModel("ignore-merges");
  std::vector<json> bodies = Bodies(kOptions);
  bodies.push_back({{"query", "The harbour"}, {"items", {"a"}}, {"labels", {"a", " a"}}});
  bodies.push_back({{"query", "a"}, {"items", json::array()}, {"label_token_ids", {1}}});
  const std::vector<std::vector<std::string>> modes = {
      {"--multi-item-scoring-delimiter", "<|im_end|>"},
      {"--multi-item-scoring-delimiter", "<|im_end|>", "--delimiter-visibility", "first"},
      {},
      {"--one-by-one"},
      // Sequences longer than a pass.
      {"--multi-item-scoring-delimiter", "<|im_end|>", "--max-batch-tokens", "48"}};
  for (const std::vector<std::string>& flags : modes) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    const Runs runs = RunOnAll({model, flags, ranks, dtype}, bodies);
    EXPECT_EQ(runs.batch.exit_code, 0) << runs.batch.err;
    EXPECT_EQ(runs.socket.exit_code, 0) << runs.socket.err;
    EXPECT_EQ(runs.http.exit_code, 0) << runs.http.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TransportsAgree,
                         ::testing::Values(std::pair{2, "bf16"}, std::pair{3, "int8"}),
                         [](const auto& test) {
                           return std::to_string(test.param.first) + "_" + test.param.second;
                         });

TEST(Transports, AgreeOnFaults) {
  const std::filesystem::path model = MakeModel("ignore-merges");
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--multi-item-scoring-delimiter", "<|im_end|>"}}) {
    const Runs runs = RunOnAll({model, flags}, Bodies(kFaults));
    EXPECT_EQ(runs.batch.exit_code, 3);
    EXPECT_EQ(runs.socket.exit_code, 3);
    EXPECT_EQ(runs.http.exit_code, 3);
  }
}

}  // namespace transports_agree_test
}  // namespace scorecast::testing
