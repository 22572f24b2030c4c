// A request's scores are the same bytes on every run, whatever else is in the pass, and for any
// bucket, number of threads and order of items.

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace same_bits_test {

using nlohmann::json;

constexpr TokenId kDelimiter = 7;
const char* const kDelimiterFlag = "7";

std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count) {
  return reference::RandomTokens(seed, count, kModelVocabSize, kDelimiter);
}

json Request(std::vector<TokenId> query, std::vector<std::vector<TokenId>> items) {
  return {{"query", std::move(query)},
          {"items", std::move(items)},
          {"label_token_ids", {300, 17, 655, 0}},
          {"return_token_logprobs", true},
          {"top_logprobs", 4}};
}

/// The same request, but it needs logits of its labels only, not of the whole vocabulary.
json SoftmaxOnly(json request) {
  request.erase("return_token_logprobs");
  request.erase("top_logprobs");
  request["apply_softmax"] = true;
  return request;
}

/// Items whose lengths are below and above the kernels' tile sizes, and an empty one.
std::vector<std::vector<TokenId>> ItemsOf(std::uint64_t seed) {
  std::vector<std::vector<TokenId>> items;
  for (const std::size_t length : {1, 3, 0, 17, 8, 33, 2, 64, 5}) {
    items.push_back(Tokens(seed * 100 + length, length));
  }
  return items;
}

std::vector<json> Requests(std::size_t count, std::uint64_t seed) {
  std::vector<json> requests;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::vector<TokenId>> items = ItemsOf(seed + i);
    items.resize(1 + i % items.size());
    json request = Request(Tokens(seed + i, 1 + 7 * i % 90), std::move(items));
    requests.push_back(i % 3 == 2 ? SoftmaxOnly(request) : request);
  }
  return requests;
}

enum class Items { kMultiItem, kSglang, kOneByOne };

std::vector<std::string> FlagsOf(Items items) {
  switch (items) {
    case Items::kMultiItem:
      return {};
    case Items::kSglang:
      return {"--multi-item-scoring-delimiter", kDelimiterFlag};
    case Items::kOneByOne:
      return {"--one-by-one"};
  }
  return {};
}

const char* NameOf(Items items) {
  switch (items) {
    case Items::kMultiItem:
      return "MultiItem";
    case Items::kSglang:
      return "Sglang";
    case Items::kOneByOne:
      return "OneByOne";
  }
  return "";
}

/// All modes in every precision, on one rank and on several, whose results are added up.
struct Mode {
  Items items = Items::kMultiItem;
  int ranks = 0;
  std::string dtype;
};

void PrintTo(const Mode& mode, std::ostream* out) {
  *out << NameOf(mode.items) << ", " << std::max(1, mode.ranks) << " ranks, " << mode.dtype;
}

class SameBits : public ::testing::TestWithParam<Mode> {
 protected:
  BatchRun RunWith(const std::vector<std::string>& flags, const std::vector<json>& requests) const {
    BatchCommand command = {dir_, flags, GetParam().ranks, GetParam().dtype};
    const std::vector<std::string> mode = FlagsOf(GetParam().items);
    command.flags.insert(command.flags.end(), mode.begin(), mode.end());
    BatchRun run = RunBatch(command, requests);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.lines.size(), requests.size());
    return run;
  }

  /// All that the response says of an item, as bytes.
  std::string Item(const json& body, std::size_t item) const {
    std::string bytes = body.at("scores").at(item).dump();
    if (body.contains("token_logprobs")) {
      const std::size_t row = item + (GetParam().items == Items::kSglang ? 1 : 0);
      bytes += body.at("token_logprobs").at(item).dump() + body.at("top_logprobs").at(row).dump();
    }
    return bytes;
  }

  const std::filesystem::path dir_ = MakeModel("");
};

TEST_P(SameBits, OnEveryRunInEveryBucketAndWithAnyThreads) {
  const std::vector<json> requests = Requests(9, 1);
  const std::vector<std::string> expected = RunWith({}, requests).Stable();
  ASSERT_FALSE(expected.empty());
  std::vector<std::vector<std::string>> others = {{},
                                                  {"--max-batch-tokens", "16", "--threads", "2"}};
  if (GetParam().ranks == 0) {
    others.insert(others.end(), {{"--max-batch-tokens", "64"},
                                 {"--max-batch-tokens", "1"},
                                 {"--threads", "1"},
                                 {"--threads", "3"}});
  }
  for (const std::vector<std::string>& flags : others) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    EXPECT_EQ(RunWith(flags, requests).Stable(), expected);
  }
}

TEST_P(SameBits, AloneAndAmidFiftyOthers) {
  const json request = Request(Tokens(5, 40), ItemsOf(5));
  const BatchRun alone = RunWith({}, {request});
  const BatchRun softmax_alone = RunWith({}, {SoftmaxOnly(request)});
  std::vector<json> crowd = Requests(50, 1000);
  crowd.insert(crowd.begin() + 23, request);
  crowd.insert(crowd.begin() + 41, SoftmaxOnly(request));
  const BatchRun amid = RunWith({}, crowd);
  EXPECT_EQ(amid.StableResponse(23), alone.StableResponse(0));
  EXPECT_EQ(amid.StableResponse(41), softmax_alone.StableResponse(0));
}

TEST_P(SameBits, WhateverTheOtherItems) {
  const std::vector<TokenId> query = Tokens(9, 40);
  const std::vector<std::vector<TokenId>> items = ItemsOf(9);
  const std::size_t count = items.size();

  std::vector<std::vector<TokenId>> permuted;
  for (std::size_t i = 0; i < count; ++i) {
    permuted.push_back(items[(i * 4 + 3) % count]);
  }
  std::vector<std::vector<TokenId>> changed = items;
  changed[3][5] = (changed[3][5] + 1) % kDelimiter;
  std::vector<std::vector<TokenId>> added = items;
  added.insert(added.begin() + 1, Tokens(77, 21));
  std::vector<std::vector<TokenId>> removed(items.begin() + 4, items.end());

  std::vector<json> requests = {Request(query, items), Request(query, permuted),
                                Request(query, changed), Request(query, added),
                                Request(query, removed)};
  const std::size_t variants = requests.size();
  for (std::size_t i = 0; i < variants; ++i) {
    requests.push_back(SoftmaxOnly(requests[i]));
  }
  const BatchRun run = RunWith({}, requests);
  for (const std::size_t first : {std::size_t{0}, variants}) {
    const json original = run.Body(first);
    for (std::size_t i = 0; i < count; ++i) {
      SCOPED_TRACE("item " + std::to_string(i));
      EXPECT_EQ(Item(run.Body(first + 1), i), Item(original, (i * 4 + 3) % count));
      if (i == 3) {
        EXPECT_NE(Item(run.Body(first + 2), i), Item(original, i));
      } else {
        EXPECT_EQ(Item(run.Body(first + 2), i), Item(original, i));
      }
      EXPECT_EQ(Item(run.Body(first + 3), i == 0 ? 0 : i + 1), Item(original, i));
      if (i >= 4) {
        EXPECT_EQ(Item(run.Body(first + 4), i - 4), Item(original, i));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SameBits,
    ::testing::Values(Mode{Items::kMultiItem, 0, "f32"}, Mode{Items::kMultiItem, 2, "bf16"},
                      Mode{Items::kMultiItem, 3, "int8"}, Mode{Items::kSglang, 0, "f32"},
                      Mode{Items::kOneByOne, 2, "f32"}, Mode{Items::kSglang, 3, "bf16"},
                      Mode{Items::kOneByOne, 0, "bf16"}, Mode{Items::kSglang, 2, "int8"},
                      Mode{Items::kOneByOne, 0, "int8"}),
    [](const auto& test) {
      return NameOf(test.param.items) + std::to_string(std::max(1, test.param.ranks)) + "Ranks_" +
             test.param.dtype;
    });

class FamilySameBits
    : public ::testing::TestWithParam<std::tuple<std::string_view, std::string_view>> {
 protected:
  static std::vector<TokenId> FamilyTokens(std::uint64_t seed, std::size_t count) {
    return reference::RandomTokens(seed, count, /*vocab_size=*/320, kDelimiter);
  }

  BatchRun RunWith(std::vector<std::string> flags,
                   const std::vector<EndpointRequest>& requests) const {
    return RunFamily(std::string(std::get<0>(GetParam())), std::move(flags), /*ranks=*/0,
                     std::string(std::get<1>(GetParam())), requests);
  }

 public:
  static BatchRun RunFamily(const std::string& family, std::vector<std::string> flags, int ranks,
                            const std::string& dtype,
                            const std::vector<EndpointRequest>& requests) {
    flags.insert(flags.end(), {"--multi-item-scoring-delimiter", kDelimiterFlag});
    BatchRun run = RunRequests({FamilyDirectory(family), flags, ranks, dtype}, requests);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.lines.size(), requests.size());
    return run;
  }

  /// Items, and chunks with a completion. Queries and chunks are longer than the families' windows.
  static std::vector<EndpointRequest> Requests() {
    std::vector<EndpointRequest> requests;
    for (const std::uint64_t seed : {10, 20, 30}) {
      json score = {{"query", FamilyTokens(seed, 30 + 2 * seed)},
                    {"items", {FamilyTokens(seed + 1, 3), FamilyTokens(seed + 2, 40)}},
                    {"label_token_ids", {300, 17, 255, 0}},
                    {"return_token_logprobs", true},
                    {"top_logprobs", 4}};
      requests.push_back(ToScore(score));
      requests.push_back(ToScore(SoftmaxOnly(score)));
      requests.push_back(
          ToChunked({{"system_prompt", FamilyTokens(seed + 3, 20)},
                     {"chunks", {FamilyTokens(seed + 4, 70), FamilyTokens(seed + 5, 9)}},
                     {"question", FamilyTokens(seed + 6, 5)},
                     {"chunk_position_strategy", seed == 10 ? "offset" : "shared"},
                     {"chunk_temperature", seed == 20 ? 0.8 : 1.0},
                     {"label_token_ids", {300, 17, 255, 0}},
                     {"return_token_logprobs", true},
                     {"max_new_tokens", 5},
                     {"ignore_eos", true}}));
    }
    return requests;
  }
};

// Each request alone, and all of them twice in the opposite order, in small passes. The second time
// a request reads what is cached.
TEST_P(FamilySameBits, InAnyCompanyAndOrderInAnyPassesAndFromTheCache) {
  const std::vector<EndpointRequest> requests = Requests();
  const BatchRun expected = RunWith({}, requests);
  for (const std::size_t i : {0U, 2U}) {
    const BatchRun alone = RunWith({}, {requests[i]});
    EXPECT_EQ(alone.StableResponse(0), expected.StableResponse(i)) << "request " << i;
  }
  std::vector<EndpointRequest> twice(requests.rbegin(), requests.rend());
  twice.insert(twice.end(), requests.rbegin(), requests.rend());
  const BatchRun again = RunWith({"--max-batch-tokens", "32", "--threads", "3"}, twice);
  std::int64_t cached = 0;
  for (std::size_t i = 0; i < twice.size(); ++i) {
    const std::size_t of = requests.size() - 1 - i % requests.size();
    EXPECT_EQ(again.StableResponse(i), expected.StableResponse(of)) << "request " << of;
    cached += again.CachedTokens(i);
  }
  EXPECT_GT(cached, 0);
}

INSTANTIATE_TEST_SUITE_P(All, FamilySameBits,
                         ::testing::Combine(::testing::ValuesIn(reference::kEachFamily),
                                            ::testing::Values("f32", "bf16", "int8")),
                         [](const auto& test) {
                           std::string name(std::get<0>(test.param));
                           std::erase(name, '-');
                           return name.append("_").append(std::get<1>(test.param));
                         });

// Scores, the best tokens and drawn completions, also of cached documents. tests/mpi compares more
// models and numbers of ranks.
TEST(RankInvariant, GivesTheSameBitsOnAnyNumberOfRanks) {
  std::vector<EndpointRequest> requests = FamilySameBits::Requests();
  const std::vector<EndpointRequest> again = requests;
  requests.insert(requests.end(), again.begin(), again.end());
  const auto run = [&](const std::vector<std::string>& flags, int ranks, const std::string& dtype) {
    return FamilySameBits::RunFamily("qwen3", flags, ranks, dtype, requests).Stable();
  };
  for (const char* dtype : {"bf16", "int8"}) {
    SCOPED_TRACE(dtype);
    const std::vector<std::string> alone = run({"--rank-invariant"}, 0, dtype);
    ASSERT_EQ(alone.size(), requests.size());
    EXPECT_EQ(run({"--rank-invariant", "--max-batch-tokens", "40"}, 3, dtype), alone);
    EXPECT_EQ(run({"--rank-invariant"}, 8, dtype), alone);
  }
  EXPECT_NE(run({}, 3, "bf16"), run({"--rank-invariant"}, 3, "bf16"));
}

// What the response says of the items is the same whether or not there is a hidden delimiter.
TEST(MultiItem, NeedsNoDelimiterForTheSameBits) {
  const std::filesystem::path dir = MakeModel("");
  const std::vector<json> requests = Requests(10, 30);
  for (const char* dtype : {"f32", "bf16", "int8"}) {
    SCOPED_TRACE(dtype);
    const BatchRun with = RunBatch({dir, FlagsOf(Items::kSglang), 0, dtype}, requests);
    for (const std::vector<std::string>& flags :
         {FlagsOf(Items::kMultiItem), {"--max-batch-tokens", "20"}, {"--enable-mis"}}) {
      SCOPED_TRACE(::testing::PrintToString(flags));
      const BatchRun without = RunBatch({dir, flags, 0, dtype}, requests);
      ASSERT_EQ(without.exit_code, 0) << without.err;
      for (std::size_t i = 0; i < requests.size(); ++i) {
        for (const char* field : {"scores", "token_logprobs"}) {
          EXPECT_EQ(without.Body(i).value(field, json()).dump(),
                    with.Body(i).value(field, json()).dump());
        }
      }
    }
  }
}

// The hidden delimiter makes multi-item scoring the same mathematics as one prompt for each item.
TEST(MultiItem, EqualsOneByOneOfTheSameIds) {
  // Relative to values above 1, because float32 logits are rounded relative to their size.
  constexpr double kTolerance = 1e-5;
  const std::filesystem::path dir = MakeModel("");
  std::vector<json> requests = Requests(10, 50);
  for (json& request : requests) {
    request["return_token_logprobs"] = true;
    request.erase("top_logprobs");
  }
  const BatchRun multi = RunBatch({dir, FlagsOf(Items::kMultiItem), 0, "f32"}, requests);
  const BatchRun single = RunBatch({dir, FlagsOf(Items::kOneByOne), 0, "f32"}, requests);
  ASSERT_EQ(multi.exit_code, 0) << multi.err;
  ASSERT_EQ(single.exit_code, 0) << single.err;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const json a = multi.Body(i).at("token_logprobs");
    const json b = single.Body(i).at("token_logprobs");
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t item = 0; item < a.size(); ++item) {
      for (std::size_t label = 0; label < a[item].size(); ++label) {
        const auto value = b[item][label].get<double>();
        EXPECT_NEAR(a[item][label].get<double>(), value,
                    kTolerance * std::max(1.0, std::abs(value)));
      }
    }
  }
}

}  // namespace same_bits_test
}  // namespace scorecast::testing
