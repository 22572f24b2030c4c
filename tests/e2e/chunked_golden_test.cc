// Chunk-aware prompts through both transports give the results of other implementations on one rank
// and on three. Each request is sent twice; the second reads the cache and gives the same bits. So
// do /v1/completions of ordinary prompts.

#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"

namespace scorecast::testing {
namespace chunked_golden_test {

using nlohmann::json;
using reference::ChunkAwareCase;

/// The promised largest error of a float32 log-probability against the references.
constexpr double kTolerance = 1e-4;

struct Reference {
  std::string name;
  std::filesystem::path model;
  std::filesystem::path golden;
};

void PrintTo(const Reference& reference, std::ostream* out) { *out << reference.name; }

/// The golden families and the model of ./demo.
std::vector<Reference> References() {
  std::vector<Reference> references = {
      {"demo_model", DemoModelDirectory(), DemoModelDirectory() / "../goldens/ids"}};
  for (const std::string_view family : reference::kGoldenFamilies) {
    const std::string name(family);
    references.push_back({name, FamilyDirectory(name), FamilyDirectory(name)});
  }
  return references;
}

json ToBody(const ChunkAwareCase& golden) {
  json body = {
      {"system_prompt", golden.system},
      {"chunks", golden.chunks},
      {"question", golden.question},
      {"chunk_position_strategy",
       golden.strategy == reference::PositionStrategy::kShared ? "shared" : "offset"},
      {"chunk_temperature", golden.temperature},
      {"chunk_scale", golden.scale},
      {"label_token_ids", golden.label_token_ids},
      {"return_token_logprobs", true},
      {"top_logprobs", golden.top_logprobs.size()},
  };
  if (!golden.groups.empty()) {
    body["chunk_groups"] = golden.groups;
  }
  if (!golden.greedy.empty()) {
    body["max_new_tokens"] = golden.greedy.size();
    body["ignore_eos"] = true;
  }
  return body;
}

std::size_t TokensOf(const std::vector<std::vector<TokenId>>& chunks) {
  std::size_t tokens = 0;
  for (const std::vector<TokenId>& chunk : chunks) {
    tokens += chunk.size();
  }
  return tokens;
}

void ExpectResponse(const json& body, const ChunkAwareCase& golden) {
  ASSERT_EQ(body.at("token_logprobs").size(), 1U);
  const std::vector<double> logprobs = body.at("token_logprobs")[0];
  ASSERT_EQ(logprobs.size(), golden.label_logprobs.size());
  for (std::size_t label = 0; label < logprobs.size(); ++label) {
    EXPECT_NEAR(logprobs[label], golden.label_logprobs[label], kTolerance) << "label " << label;
  }
  ASSERT_EQ(body.at("top_logprobs").size(), 1U);
  const json& top = body.at("top_logprobs")[0];
  ASSERT_EQ(top.size(), golden.top_logprobs.size());
  for (std::size_t place = 0; place < top.size(); ++place) {
    EXPECT_EQ(top[place][0], golden.top_logprobs[place].first) << "place " << place;
    EXPECT_NEAR(top[place][1].get<double>(), golden.top_logprobs[place].second, kTolerance);
  }
  if (golden.greedy.empty()) {
    EXPECT_FALSE(body.contains("outputs"));
  } else {
    ASSERT_EQ(body.at("outputs").size(), 1U);
    EXPECT_EQ(body.at("outputs")[0].at("token_ids"), golden.greedy);
    EXPECT_EQ(body.at("outputs")[0].at("finish_reason"), "length");
  }
  const std::size_t prompt =
      golden.system.size() + TokensOf(golden.chunks) + golden.question.size();
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), prompt);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), golden.greedy.size());
  EXPECT_EQ(body.at("usage").at("total_tokens"), prompt + golden.greedy.size());
}

/// Two completions of a case without chunks, which is an ordinary prompt.
json ToCompletionsBody(const ChunkAwareCase& golden) {
  std::vector<TokenId> prompt = golden.system;
  prompt.insert(prompt.end(), golden.question.begin(), golden.question.end());
  return {{"prompt", prompt},   {"max_tokens", golden.greedy.size()},
          {"temperature", 0},   {"n", 2},
          {"ignore_eos", true}, {"return_token_ids", true}};
}

void ExpectCompletions(const json& body, const ChunkAwareCase& golden) {
  ASSERT_EQ(body.at("choices").size(), 2U);
  for (const json& choice : body.at("choices")) {
    EXPECT_EQ(choice.at("token_ids"), golden.greedy);
    EXPECT_EQ(choice.at("finish_reason"), "length");
  }
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), golden.system.size() + golden.question.size());
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 2 * golden.greedy.size());
}

class ChunkedGolden : public ::testing::TestWithParam<Reference> {};

TEST_P(ChunkedGolden, OnAnyRanksFreshAndCached) {
  const std::vector<ChunkAwareCase> cases =
      reference::LoadFamilyGolden(GetParam().golden).chunk_aware;
  ASSERT_FALSE(cases.empty());
  std::vector<EndpointRequest> requests;
  for (int time = 0; time < 2; ++time) {
    for (const ChunkAwareCase& golden : cases) {
      requests.push_back(ToChunked(ToBody(golden)));
    }
  }
  std::vector<ChunkAwareCase> ordinary;
  for (const ChunkAwareCase& golden : cases) {
    if (golden.chunks.empty() && !golden.greedy.empty()) {
      ordinary.push_back(golden);
      requests.push_back(ToCompletions(ToCompletionsBody(golden)));
    }
  }
  for (const int ranks : {1, SeveralRanks()}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const BatchRun run =
        RunRequests({GetParam().model, {"--kv-cache-mb", "16"}, ranks, "f32"}, requests);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ASSERT_EQ(run.lines.size(), requests.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE("case " + std::to_string(i));
      ExpectResponse(run.Body(i), cases[i]);
      EXPECT_EQ(run.StableResponse(cases.size() + i), run.StableResponse(i));
      EXPECT_EQ(run.CachedTokens(cases.size() + i),
                cases[i].system.size() + TokensOf(cases[i].chunks));
    }
    for (std::size_t i = 0; i < ordinary.size(); ++i) {
      ExpectCompletions(run.Body(2 * cases.size() + i), ordinary[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChunkedGolden, ::testing::ValuesIn(References()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace chunked_golden_test
}  // namespace scorecast::testing
