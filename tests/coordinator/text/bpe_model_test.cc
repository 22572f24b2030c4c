#include "coordinator/text/models/bpe_model.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace bpe_model_test {

using proto::TokenId;
using Ids = std::vector<TokenId>;

/// Random merges over a few letters, each of which makes a new token.
struct RandomMerges {
  std::vector<std::pair<TokenId, TokenId>> pairs;  ///< By rank; the token is 256 + rank.

  explicit RandomMerges(std::mt19937& random) {
    std::map<std::pair<TokenId, TokenId>, bool> seen;
    Ids tokens = {'a', 'b', 'c'};
    while (pairs.size() < 40) {
      const auto pick = [&] { return tokens[random() % tokens.size()]; };
      const std::pair<TokenId, TokenId> pair = {pick(), pick()};
      if (seen.emplace(pair, true).second) {
        tokens.push_back(static_cast<TokenId>(256 + pairs.size()));
        pairs.push_back(pair);
      }
    }
    // Shuffled ranks: a merge may rank before the merges that make its parts.
    std::shuffle(pairs.begin(), pairs.end(), random);
  }

  BpeModel Model() const {
    BpeModel::Data data;
    for (int byte = 0; byte < 256; ++byte) {
      data.byte_tokens[byte] = byte;
    }
    data.merges = MergeTable(pairs.size());
    for (std::size_t rank = 0; rank < pairs.size(); ++rank) {
      data.merges.Insert(
          pairs[rank].first, pairs[rank].second,
          {.rank = static_cast<std::uint32_t>(rank), .merged = static_cast<TokenId>(256 + rank)});
    }
    return BpeModel(std::move(data));
  }

  /// BPE by definition: find the best pair of all neighbours, merge it, start again.
  Ids Slow(std::string_view piece) const {
    Ids ids(piece.begin(), piece.end());
    while (true) {
      std::size_t best_rank = pairs.size();
      std::size_t best_at = 0;
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        for (std::size_t rank = 0; rank < best_rank; ++rank) {
          if (pairs[rank] == std::pair(ids[i], ids[i + 1])) {
            best_rank = rank;
            best_at = i;
          }
        }
      }
      if (best_rank == pairs.size()) {
        return ids;
      }
      ids[best_at] = static_cast<TokenId>(256 + best_rank);
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
    }
  }
};

Ids Encode(const BpeModel& model, std::string_view piece) {
  TokenCollector tokens;
  model.Encode(piece, tokens);
  return std::move(tokens).Take();
}

TEST(BpeModel, MergesAsBpeIsDefined) {
  std::mt19937 random(1);
  int merged = 0;
  for (int round = 0; round < 100; ++round) {
    const RandomMerges merges(random);
    const BpeModel model = merges.Model();
    for (int i = 0; i < 20; ++i) {
      std::string piece;
      for (std::size_t length = random() % 60; piece.size() < length;) {
        piece += static_cast<char>('a' + random() % 3);
      }
      const Ids ids = Encode(model, piece);
      ASSERT_EQ(ids, merges.Slow(piece)) << piece;
      merged += ids.size() < piece.size() ? 1 : 0;
    }
  }
  EXPECT_GT(merged, 1000);
}

/// "a" and "b" with the tokens "ab" and "abab"; "c" is in no longer token.
BpeModel SmallModel() {
  BpeModel::Data data;
  data.byte_tokens.fill(-1);
  data.byte_tokens['a'] = 0;
  data.byte_tokens['b'] = 1;
  data.byte_tokens['c'] = 2;
  data.merges = MergeTable(2);
  data.merges.Insert(0, 1, {.rank = 0, .merged = 3});
  data.merges.Insert(3, 3, {.rank = 1, .merged = 4});
  for (const std::string_view token : {"a", "b", "c", "ab", "abab"}) {
    data.pairs.AddBytes(token);
    data.longest.AddBytes(token);
  }
  data.pairs.Finish();
  return BpeModel(std::move(data));
}

std::string Repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

TEST(BpeModel, ALongPieceIsMergedInPartsWhereNoTokenLies) {
  const BpeModel model = SmallModel();
  EXPECT_EQ(Encode(model, Repeated("abab", 5000)), Ids(5000, 4));
  const Ids ids = Encode(model, Repeated("ababababc", 5000));
  ASSERT_EQ(ids.size(), 15000u);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(ids[i], i % 3 == 2 ? 2 : 4) << i;
  }
}

TEST(BpeModel, APieceWithTooManyTokensIsNotMerged) {
  const BpeModel model = SmallModel();
  EXPECT_EQ(model.LeastTokens(Repeated("ababc", 100)), 200);
  EXPECT_EQ(model.LeastTokens("xyz"), 0) << "bytes without a token may be left out";
  TokenCollector tokens({.max_tokens = 99});
  EXPECT_THROW(model.Encode(Repeated("abab", 100), tokens), TokenCollector::Ended);
  EXPECT_TRUE(tokens.ids().empty());
}

TEST(BpeModel, StopEndsAMerging) {
  const BpeModel model = SmallModel();
  const std::atomic<bool> stop = true;
  const Interruption interruption(stop);
  TokenCollector tokens({.interruption = &interruption});
  EXPECT_THROW(model.Encode(Repeated("ab", 10'000), tokens), TokenCollector::Ended);
  EXPECT_TRUE(tokens.ids().empty());
}

TEST(BpeModel, AppendsToWhatIsThere) {
  std::mt19937 random(2);
  const BpeModel model = RandomMerges(random).Model();
  TokenCollector tokens;
  tokens.Add(7);
  model.Encode("", tokens);
  model.Encode("x", tokens);
  EXPECT_EQ(tokens.ids(), (Ids{7, 'x'}));
}

TEST(BpeModel, AWholePieceThatIsATokenComesBeforeMerges) {
  BpeModel::Data data;
  data.byte_tokens.fill(-1);
  data.byte_tokens['a'] = 1;
  data.whole_pieces = {{"aa", 9}};
  const BpeModel model(std::move(data));
  TokenCollector tokens;
  model.Encode("aa", tokens);
  model.Encode("aaa", tokens);
  model.Encode("aba", tokens);  // the byte b has no token
  EXPECT_EQ(tokens.ids(), (Ids{9, 1, 1, 1, 1, 1}));
}

TEST(MergeTable, KeepsManyPairsApart) {
  MergeTable table(1000);
  for (TokenId i = 0; i < 1000; ++i) {
    table.Insert(i % 10, i, {.rank = static_cast<std::uint32_t>(i), .merged = 2 * i});
  }
  for (TokenId i = 0; i < 1000; ++i) {
    const Merge* merge = table.Find(i % 10, i);
    ASSERT_NE(merge, nullptr);
    EXPECT_EQ(merge->merged, 2 * i);
    EXPECT_EQ(table.Find((i + 1) % 10, i), nullptr);
  }
  table.Insert(3, 3, {.rank = 5000, .merged = 4});
  EXPECT_EQ(table.Find(3, 3)->rank, 5000u);
  EXPECT_EQ(MergeTable(0).Find(0, 0), nullptr);
}

}  // namespace bpe_model_test
}  // namespace scorecast::coordinator
