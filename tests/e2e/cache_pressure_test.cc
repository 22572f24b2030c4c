// Ten thousand score and chunked requests share more text than the cache holds. Every number is the
// same as in a run without a cache.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/cache_log.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace cache_pressure_test {

using nlohmann::json;
using Tokens = std::vector<TokenId>;

constexpr std::size_t kRequests = 10000;
constexpr TokenId kDelimiter = 7;

/// Texts that requests share: a few are drawn often, most rarely.
class Pool {
 public:
  Pool(std::uint64_t seed, std::size_t count, std::size_t longest) {
    for (std::size_t i = 0; i < count; ++i) {
      texts_.push_back(
          reference::RandomTokens(seed + i, 1 + (i * 37) % longest, kModelVocabSize, kDelimiter));
    }
  }

  const Tokens& Draw(std::mt19937_64& engine) const {
    const auto u = static_cast<double>(engine() >> 11) * 0x1p-53;
    return texts_[static_cast<std::size_t>(u * u * u * static_cast<double>(texts_.size()))];
  }

 private:
  std::vector<Tokens> texts_;
};

std::vector<EndpointRequest> RandomRequests() {
  std::mt19937_64 engine(20);
  const auto below = [&](std::size_t bound) { return engine() % bound; };
  const Pool queries(1000, 300, 90);
  const Pool systems(2000, 20, 12);
  const Pool chunks(3000, 200, 20);
  const Pool tails(4000, 50, 6);
  std::vector<EndpointRequest> requests;
  for (std::size_t i = 0; i < kRequests; ++i) {
    if (below(10) < 6) {
      std::vector<Tokens> items;
      for (std::size_t n = 1 + below(3); n > 0; --n) {
        items.push_back(tails.Draw(engine));
      }
      requests.push_back(ToScore({{"query", queries.Draw(engine)},
                                  {"items", std::move(items)},
                                  {"label_token_ids", {5, 9}},
                                  {"return_token_logprobs", below(2) == 0}}));
      continue;
    }
    std::vector<Tokens> documents;
    for (std::size_t n = below(5); n > 0; --n) {
      documents.push_back(chunks.Draw(engine));
    }
    json body = {{"system_prompt", systems.Draw(engine)},
                 {"chunks", documents},
                 {"question", tails.Draw(engine)},
                 {"chunk_position_strategy", below(4) == 0 ? "offset" : "shared"},
                 {"label_token_ids", {5, 9}}};
    if (documents.size() > 2 && below(2) == 0) {
      body["chunk_groups"] = {2, documents.size() - 2};
    }
    if (below(4) == 0) {
      body.update({{"max_new_tokens", 1 + below(4)}, {"temperature", 1.0}, {"seed", i}});
    }
    requests.push_back(ToChunked(std::move(body)));
  }
  return requests;
}

TEST(CachePressure, NoNumberDiffersAndTheBudgetHolds) {
  const std::vector<EndpointRequest> requests = RandomRequests();
  const std::filesystem::path dir = MakeModel("", 1024);
  const auto run_with = [&](const std::string& megabytes) {
    return RunRequests({dir,
                        {"--multi-item-scoring-delimiter", std::to_string(kDelimiter),
                         "--max-batch-tokens", "1024", "--kv-cache-mb", megabytes},
                        2,
                        "f32"},
                       requests, Transport::kBatch);
  };
  const BatchRun cached = run_with("1");
  const BatchRun fresh = run_with("0");
  ASSERT_EQ(cached.exit_code, 0) << cached.err;
  ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
  ASSERT_EQ(cached.lines.size(), kRequests);
  ASSERT_EQ(fresh.lines.size(), kRequests);
  std::size_t different = 0;
  std::int64_t found = 0;
  for (std::size_t i = 0; i < kRequests; ++i) {
    found += cached.CachedTokens(i);
    if (cached.StableResponse(i) != fresh.StableResponse(i) && ++different <= 3) {
      ADD_FAILURE() << requests[i].body << "\n" << cached.lines[i] << "\n" << fresh.lines[i];
    }
  }
  EXPECT_EQ(different, 0U);
  const CacheLine line = LastCacheLine(cached.err);
  EXPECT_EQ(line.found, found);
  EXPECT_GT(line.found, 0);
  EXPECT_LT(line.found, line.asked);
  EXPECT_GT(line.evicted, 0);
  // One MiB. The log line rounds to 0.1 MB.
  EXPECT_LE(line.megabytes, 1.048576 + 0.05);
}

}  // namespace cache_pressure_test
}  // namespace scorecast::testing
