// The prefix cache as a user sees it: the exact number of cached tokens of each request, in both
// modes of scoring and for chunk-aware prompts. The cache never changes a score.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/cache_log.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/socket_transport.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace cache_test {

using nlohmann::json;
using Tokens = std::vector<TokenId>;

constexpr TokenId kDelimiter = 7;
const std::vector<std::string> kMultiItem = {"--multi-item-scoring-delimiter", "7"};

/// `count` tokens: `first`, then random ones.
Tokens TokensFrom(TokenId first, std::size_t count) {
  Tokens tokens = reference::RandomTokens(static_cast<std::uint64_t>(first), count, kModelVocabSize,
                                          kDelimiter);
  tokens.front() = first;
  return tokens;
}

Tokens Joined(Tokens first, const std::vector<Tokens>& more) {
  for (const Tokens& tokens : more) {
    first.insert(first.end(), tokens.begin(), tokens.end());
  }
  return first;
}

EndpointRequest Score(const Tokens& query, const std::vector<Tokens>& items,
                      const std::string& salt = "") {
  json body = {{"query", query},
               {"items", items},
               {"label_token_ids", {300, 17, 655}},
               {"return_token_logprobs", true},
               {"top_logprobs", 3}};
  if (!salt.empty()) {
    body["cache_salt"] = salt;
  }
  return ToScore(body);
}

struct Chunked {
  Tokens system;
  std::vector<Tokens> chunks;
  Tokens question;
  std::vector<std::size_t> groups;
  std::string strategy = "shared";
  std::string salt;

  EndpointRequest Request() const {
    json body = {{"system_prompt", system},
                 {"chunks", chunks},
                 {"question", question},
                 {"chunk_position_strategy", strategy},
                 {"label_token_ids", {300, 17, 655}},
                 {"return_token_logprobs", true},
                 {"max_new_tokens", 2},
                 {"ignore_eos", true}};
    if (!groups.empty()) {
      body["chunk_groups"] = groups;
    }
    if (!salt.empty()) {
      body["cache_salt"] = salt;
    }
    return ToChunked(body);
  }
};

class Cache : public ::testing::Test {
 protected:
  /// Runs the requests one after another, without a cache and with one, and expects the same
  /// responses. Returns the run with a cache.
  BatchRun RunBoth(const std::vector<EndpointRequest>& requests,
                   const std::vector<std::string>& flags = {}, int ranks = 0) const {
    BatchCommand command = {dir_, flags, ranks, ""};
    command.flags.insert(command.flags.end(), {"--kv-cache-mb", "0"});
    const BatchRun fresh = RunInTurn(command, requests);
    command.flags.back() = "32";
    BatchRun cached = RunInTurn(command, requests);
    EXPECT_EQ(fresh.exit_code, 0) << fresh.err;
    EXPECT_EQ(cached.exit_code, 0) << cached.err;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(cached.StableResponse(i), fresh.StableResponse(i)) << "request " << i;
      EXPECT_EQ(fresh.CachedTokens(i), 0) << "request " << i;
    }
    EXPECT_EQ(fresh.err.find("cache: "), std::string::npos) << "this run has no cache";
    return cached;
  }

  static void ExpectCached(const BatchRun& run, const std::vector<std::int64_t>& expected) {
    ASSERT_EQ(run.lines.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(run.CachedTokens(i), expected[i]) << "request " << i;
    }
  }

  const std::filesystem::path dir_ = MakeModel("");
};

TEST_F(Cache, AQuerySeenBeforeIsNotComputedAgain) {
  const Tokens query = TokensFrom(1, 100);
  const Tokens longer = Joined(query, {TokensFrom(2, 37)});
  const Tokens shorter(query.begin(), query.begin() + 70);
  const std::vector<Tokens> items = {TokensFrom(10, 5), TokensFrom(11, 1), {}};
  const std::vector<Tokens> others = {TokensFrom(20, 70), TokensFrom(21, 3)};
  const std::vector<EndpointRequest> requests = {
      Score(query, items),  Score(query, others),   Score(longer, items),
      Score(longer, items), Score(shorter, others), Score(TokensFrom(3, 100), items),
      Score(query, items)};
  using Flags = std::vector<std::string>;
  for (const auto& [flags, ranks] :
       {std::pair(kMultiItem, 0), std::pair(kMultiItem, 2), std::pair(Flags{}, 0)}) {
    SCOPED_TRACE(ranks);
    const BatchRun run = RunBoth(requests, flags, ranks);
    ExpectCached(run, {0, 100, 100, 137, 70, 0, 100});
    const CacheLine line = LastCacheLine(run.err);
    EXPECT_EQ(line.found, 100 + 100 + 137 + 70 + 100);
    EXPECT_EQ(line.asked, 100 + 100 + 137 + 137 + 70 + 100 + 100) << "queries only, no items";
    EXPECT_EQ(line.evicted, 0);
  }
}

TEST_F(Cache, OneByOnePromptsShareTheirQuery) {
  const Tokens query = TokensFrom(1, 100);
  const std::vector<Tokens> items = {TokensFrom(10, 5), TokensFrom(11, 1), TokensFrom(12, 30)};
  const std::vector<Tokens> others = {TokensFrom(20, 7), TokensFrom(21, 40)};
  const BatchRun run =
      RunBoth({Score(query, items), Score(query, others), Score(query, items)}, {"--one-by-one"});
  // If an earlier request had the whole prompt, the prompt is found with its item.
  EXPECT_EQ(run.CachedTokens(1), 2 * 100);
  EXPECT_EQ(run.CachedTokens(2), 3 * 100 + 5 + 1 + 30);
}

TEST_F(Cache, ChunksAreFoundInAnyOrderBesideAnyOthers) {
  const Tokens system = TokensFrom(1, 20);
  const Tokens a = TokensFrom(10, 70);
  const Tokens b = TokensFrom(11, 30);
  const Tokens c = TokensFrom(12, 64);
  const Tokens d = TokensFrom(13, 9);
  const Tokens question = TokensFrom(30, 8);
  const BatchRun run = RunBoth({Chunked{system, {a, b, c}, question}.Request(),
                                Chunked{system, {c, a, b}, TokensFrom(31, 5)}.Request(),
                                Chunked{system, {d, b}, question}.Request(),
                                Chunked{system, {b, d, b}, question}.Request(),
                                // K/V of a chunk depends on the system prompt before it.
                                Chunked{TokensFrom(2, 20), {a, b, c}, question}.Request(),
                                Chunked{system, {}, question}.Request()});
  ExpectCached(run, {0, 20 + 70 + 30 + 64, 20 + 30, 20 + 30 + 9 + 30, 0, 20});
}

TEST_F(Cache, AChunkIsFoundOnlyAtItsPositionAndInItsGroup) {
  const Tokens system = TokensFrom(1, 20);
  const Tokens a = TokensFrom(10, 15);
  const Tokens b = TokensFrom(11, 15);
  const Tokens c = TokensFrom(12, 11);
  const Tokens question = TokensFrom(30, 8);
  const std::string offset = "offset";
  const BatchRun run =
      RunBoth({Chunked{system, {a, b, c}, question, {}, offset}.Request(),
               // `a` and `b` have the same length, so that `c` has the same positions as before.
               Chunked{system, {b, a, c}, question, {}, offset}.Request(),
               // Only `a` is found: it has the same positions as in the first request. `b` was
               // never in a group with `a`, and `c` was never at these positions.
               Chunked{system, {a, b, c}, question, {2, 1}}.Request(),
               Chunked{system, {a, b, c}, question, {2, 1}}.Request(),
               // `b` has the positions that it has in the second request; `c` was never behind `a`.
               Chunked{system, {a, c, b}, question, {2, 1}}.Request(),
               Chunked{system, {c, a, b}, question, {1, 2}}.Request()});
  ExpectCached(run, {0, 20 + 11, 20 + 15, 20 + 15 + 15 + 11, 20 + 15 + 15, 20 + 15 + 15 + 11});
}

TEST_F(Cache, SaltsKeepRequestsApart) {
  const Tokens query = TokensFrom(1, 90);
  const std::vector<Tokens> items = {TokensFrom(10, 5)};
  Chunked chunked{query, {TokensFrom(11, 12)}, TokensFrom(12, 3)};
  const EndpointRequest unsalted = chunked.Request();
  chunked.salt = "one";
  const EndpointRequest salted = chunked.Request();
  const BatchRun run =
      RunBoth({Score(query, items), Score(query, items, "one"), Score(query, items, "two"),
               Score(query, items, "one"), unsalted, salted, salted},
              kMultiItem);
  // The chunked requests find the scored query, because their system prompt has the same tokens.
  ExpectCached(run, {0, 0, 0, 90, 90, 90, 90 + 12});
}

/// Within 1e-5 relative to the value, because float32 logits are rounded relative to their size.
void ExpectSameLogProbs(const json& found, const json& expected) {
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_FALSE(found.empty());
  for (std::size_t label = 0; label < found.size(); ++label) {
    const auto value = expected[label].get<double>();
    EXPECT_NEAR(found[label].get<double>(), value, 1e-5 * std::max(1.0, std::abs(value)));
  }
}

TEST_F(Cache, OrderOfChunksChangesScoresOnlyByRounding) {
  std::vector<Tokens> chunks;
  for (TokenId i = 10; i < 15; ++i) {
    chunks.push_back(TokensFrom(i, static_cast<std::size_t>(i * 7 % 40 + 3)));
  }
  Chunked prompt{TokensFrom(1, 20), chunks, TokensFrom(30, 8)};
  std::vector<EndpointRequest> requests = {prompt.Request()};
  for (int i = 0; i < 6; ++i) {
    std::next_permutation(prompt.chunks.begin(), prompt.chunks.end());
    std::rotate(prompt.chunks.begin(), prompt.chunks.begin() + 2, prompt.chunks.end());
    requests.push_back(prompt.Request());
  }
  for (const int ranks : {0, 3}) {
    const BatchRun run = RunRequests({dir_, {}, ranks, "f32"}, requests);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    for (std::size_t i = 1; i < requests.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSameLogProbs(run.Body(i).at("token_logprobs")[0], run.Body(0).at("token_logprobs")[0]);
      for (std::size_t label = 0; label < 3; ++label) {
        EXPECT_NEAR(run.Body(i).at("scores")[0][label].get<double>(),
                    run.Body(0).at("scores")[0][label].get<double>(), 1e-5);
      }
    }
  }
}

TEST_F(Cache, OneChunkAndOneQuestionAreAnOrdinaryPrompt) {
  const Tokens system = TokensFrom(1, 20);
  const Tokens chunk = TokensFrom(10, 75);
  const Tokens question = TokensFrom(30, 8);
  const std::string offset = "offset";
  const BatchRun run = RunRequests(
      {dir_, {}, 0, "f32"},
      {Score(Joined(system, {chunk}), {question}), Chunked{system, {chunk}, question}.Request(),
       Chunked{system, {chunk}, question, {}, offset}.Request(),
       Chunked{Joined(system, {chunk}), {}, question}.Request(),
       Chunked{{}, {Joined(system, {chunk})}, question}.Request(),
       Chunked{system,
               {Tokens(chunk.begin(), chunk.begin() + 30), Tokens(chunk.begin() + 30, chunk.end())},
               question,
               {2}}
           .Request()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (std::size_t i = 1; i < run.lines.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSameLogProbs(run.Body(i).at("token_logprobs")[0], run.Body(0).at("token_logprobs")[0]);
    EXPECT_EQ(run.Body(i).at("usage").at("prompt_tokens"), 20 + 75 + 8);
    EXPECT_EQ(run.Body(i).at("outputs"), run.Body(1).at("outputs"));
  }
}

}  // namespace cache_test
}  // namespace scorecast::testing
