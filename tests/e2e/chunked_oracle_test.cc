// Random chunk-aware prompts through both transports agree with the dense-mask oracle on 1 … 4
// ranks. Most need several passes. Responses have the same bits with and without a cache.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/socket_transport.h"
#include "tests/reference/log_probabilities.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace chunked_oracle_test {

using nlohmann::json;
using reference::PositionStrategy;

/// The promised largest error of a float32 log-probability against the oracle.
constexpr double kTolerance = 1e-4;
const std::vector<TokenId> kLabels = {300, 17, 655};

/// The content of one request.
struct Prompt {
  std::vector<TokenId> system;
  std::vector<std::vector<std::vector<TokenId>>> groups;
  std::vector<std::vector<TokenId>> questions;
  PositionStrategy strategy = PositionStrategy::kShared;
  proto::BlockWeighting weighting;
  std::int64_t max_new_tokens = 0;

  std::size_t CacheableTokens() const {
    std::size_t tokens = system.size();
    for (const auto& group : groups) {
      for (const auto& chunk : group) {
        tokens += chunk.size();
      }
    }
    return tokens;
  }
};

class PromptGenerator {
 public:
  explicit PromptGenerator(std::uint64_t seed) : engine_(seed) {}

  Prompt Next() {
    Prompt prompt;
    prompt.system = Tokens(Below(4) == 0 ? 0 : Below(30));
    const std::size_t chunks = Below(6);
    for (std::size_t i = 0; i < chunks; ++i) {
      if (prompt.groups.empty() || Below(3) > 0) {
        prompt.groups.emplace_back();
      }
      // Some are empty, and some longer than a page.
      prompt.groups.back().push_back(Tokens(i == 0 && Below(3) == 0 ? 70 : Below(25)));
    }
    const std::size_t questions = 1 + Below(3);
    for (std::size_t i = 0; i < questions; ++i) {
      prompt.questions.push_back(Tokens(1 + Below(9)));
    }
    prompt.strategy = Below(2) == 0 ? PositionStrategy::kShared : PositionStrategy::kOffset;
    if (Below(2) == 0) {
      prompt.weighting = {0.5F + 0.25F * static_cast<float>(Below(4)),
                          0.75F + 0.25F * static_cast<float>(Below(3))};
    }
    prompt.max_new_tokens = static_cast<std::int64_t>(Below(4));
    return prompt;
  }

 private:
  std::size_t Below(std::size_t bound) { return engine_() % bound; }
  std::vector<TokenId> Tokens(std::size_t count) {
    return reference::RandomTokens(engine_(), count, kModelVocabSize);
  }

  std::mt19937_64 engine_;
};

json ToBody(const Prompt& prompt) {
  json body = {{"system_prompt", prompt.system},
               {"chunks", json::array()},
               {"chunk_groups", json::array()},
               {"chunk_position_strategy",
                prompt.strategy == PositionStrategy::kShared ? "shared" : "offset"},
               {"chunk_temperature", prompt.weighting.temperature},
               {"chunk_scale", prompt.weighting.scale},
               {"label_token_ids", kLabels},
               {"return_token_logprobs", true},
               {"top_logprobs", 3},
               {"max_new_tokens", prompt.max_new_tokens},
               {"ignore_eos", true}};
  for (const auto& group : prompt.groups) {
    body["chunk_groups"].push_back(group.size());
    for (const auto& chunk : group) {
      body["chunks"].push_back(chunk);
    }
  }
  if (prompt.questions.size() == 1) {
    body["question"] = prompt.questions[0];
  } else {
    body["questions"] = prompt.questions;
  }
  return body;
}

class ChunkedOracle : public ::testing::Test {
 protected:
  static constexpr std::size_t kPrompts = 24;

  ChunkedOracle() {
    PromptGenerator generator(7);
    for (std::size_t i = 0; i < kPrompts; ++i) {
      prompts_.push_back(generator.Next());
    }
    for (int time = 0; time < 2; ++time) {
      for (const Prompt& prompt : prompts_) {
        requests_.push_back(ToChunked(ToBody(prompt)));
      }
    }
  }

  /// Checks each question's last row, and that each token of its completion is the best at its row.
  void ExpectResponse(const json& body, const Prompt& prompt) const {
    std::vector<std::vector<TokenId>> completions(prompt.questions.size());
    std::vector<std::vector<TokenId>> suffixes = prompt.questions;
    for (std::size_t q = 0; q < suffixes.size() && prompt.max_new_tokens > 0; ++q) {
      completions[q] = body.at("outputs").at(q).at("token_ids").get<std::vector<TokenId>>();
      ASSERT_EQ(completions[q].size(), static_cast<std::size_t>(prompt.max_new_tokens));
      suffixes[q].insert(suffixes[q].end(), completions[q].begin(), completions[q].end());
    }
    const reference::PackedLayout layout =
        reference::LayOutGroups(prompt.system, prompt.groups, suffixes, prompt.strategy);
    for (std::size_t q = 0; q < suffixes.size(); ++q) {
      SCOPED_TRACE("question " + std::to_string(q));
      const std::int32_t last = layout.last_rows[layout.last_rows.size() - suffixes.size() + q];
      std::vector<std::int32_t> rows;
      for (auto row = last - static_cast<std::int32_t>(completions[q].size()); row <= last; ++row) {
        rows.push_back(row);
      }
      const auto logits = oracle_.Logits(layout.tokens, layout.segments, rows, prompt.weighting);
      ExpectRow(body, q, reference::LogSoftmax(logits[0]));
      for (std::size_t step = 0; step < completions[q].size(); ++step) {
        // The best token, or one within the tolerance of it.
        const std::vector<double> row = reference::LogSoftmax(logits[step]);
        EXPECT_GE(row[static_cast<std::size_t>(completions[q][step])],
                  *std::max_element(row.begin(), row.end()) - 2 * kTolerance)
            << "step " << step;
      }
    }
  }

  static void ExpectRow(const json& body, std::size_t question, const std::vector<double>& oracle) {
    const std::vector<double> logprobs = body.at("token_logprobs").at(question);
    ASSERT_EQ(logprobs.size(), kLabels.size());
    for (std::size_t label = 0; label < kLabels.size(); ++label) {
      EXPECT_NEAR(logprobs[label], oracle[static_cast<std::size_t>(kLabels[label])], kTolerance);
    }
    const auto best = reference::Top(oracle, 3);
    const json& top = body.at("top_logprobs").at(question);
    ASSERT_EQ(top.size(), best.size());
    for (std::size_t place = 0; place < best.size(); ++place) {
      // If two tokens are within the tolerance of each other, either may come first.
      EXPECT_NEAR(top[place][1].get<double>(), best[place].second, kTolerance);
      EXPECT_NEAR(oracle[top[place][0].get<std::size_t>()], best[place].second, 2 * kTolerance);
    }
  }

  // A request with completions keeps at least a page for each part of its prompt. Without a cache,
  // the number of pages follows from max_position_embeddings, and 256 would be too few.
  const std::filesystem::path dir_ = MakeModel("", 1024);
  const reference::ReferenceModel oracle_{dir_};
  std::vector<Prompt> prompts_;
  std::vector<EndpointRequest> requests_;
};

TEST_F(ChunkedOracle, RandomPromptsOnAnyRanksWithAndWithoutACache) {
  for (const int ranks : {1, 4}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    // A pass takes 32 tokens, fewer than most of the prompts have.
    const auto command_with = [&](const std::string& megabytes) {
      return BatchCommand{
          dir_, {"--max-batch-tokens", "32", "--kv-cache-mb", megabytes}, ranks, "f32"};
    };
    const BatchRun fresh = RunRequests(command_with("0"), requests_);
    const BatchRun cached = RunRequests(command_with("8"), requests_);
    // Requests in flight together may be computed in another order than they were sent in.
    const BatchRun in_turn = RunInTurn(command_with("8"), requests_);
    ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
    ASSERT_EQ(cached.exit_code, 0) << cached.err;
    ASSERT_EQ(in_turn.exit_code, 0) << in_turn.err;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      SCOPED_TRACE("request " + std::to_string(i));
      const Prompt& prompt = prompts_[i % kPrompts];
      EXPECT_EQ(cached.StableResponse(i), fresh.StableResponse(i));
      EXPECT_EQ(in_turn.StableResponse(i), fresh.StableResponse(i));
      EXPECT_EQ(fresh.CachedTokens(i), 0);
      if (i < kPrompts) {
        ExpectResponse(cached.Body(i), prompt);
      } else {
        EXPECT_EQ(in_turn.CachedTokens(i), prompt.CacheableTokens());
      }
    }
  }
}

}  // namespace chunked_oracle_test
}  // namespace scorecast::testing
