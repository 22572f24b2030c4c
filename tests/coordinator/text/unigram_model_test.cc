#include "coordinator/text/models/unigram_model.h"

#include <atomic>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace unigram_model_test {

using proto::TokenId;
using Ids = std::vector<TokenId>;

Ids Encode(const UnigramModel::Data& data, std::string_view text) {
  TokenCollector tokens;
  UnigramModel(data).Encode(text, tokens);
  return std::move(tokens).Take();
}

/// The tokens of the reference's own example.
UnigramModel::Data Letters() {
  return {.tokens = {{"<unk>", 0},
                     {"a", 0},
                     {"b", 0},
                     {"c", 0},
                     {"d", 0},
                     {"cd", 1},
                     {"ab", 2},
                     {"abc", 5},
                     {"abcd", 10}}};
}

TEST(UnigramModel, ALongPieceEndsAtTheLimits) {
  const UnigramModel model(Letters());
  EXPECT_EQ(model.LeastTokens(std::string(1000, 'a')), 250) << "the longest token has 4 letters";
  EXPECT_EQ(model.LeastTokens("xyz"), 0) << "unknown letters become one token";
  TokenCollector few({.max_tokens = 249});
  EXPECT_THROW(model.Encode(std::string(1000, 'a'), few), TokenCollector::Ended);
  const std::atomic<bool> stop = true;
  const Interruption interruption(stop);
  TokenCollector stopped({.interruption = &interruption});
  EXPECT_THROW(model.Encode(std::string(10'000, 'a'), stopped), TokenCollector::Ended);
}

TEST(UnigramModel, TakesTheHighestSum) {
  EXPECT_EQ(Encode(Letters(), "abcdacdxx"), (Ids{8, 1, 5, 0}));
  EXPECT_EQ(Encode(Letters(), "abc"), (Ids{7}));
  EXPECT_EQ(Encode(Letters(), "acd"), (Ids{1, 5}));
  EXPECT_EQ(Encode(Letters(), ""), Ids{});
}

TEST(UnigramModel, UnknownNeighboursAreOneToken) {
  EXPECT_EQ(Encode(Letters(), "xéya"), (Ids{0, 1}));
  EXPECT_EQ(Encode(Letters(), "xaé"), (Ids{0, 1, 0}));
  // The unknown token's spelling is found, too, and joins its neighbours.
  EXPECT_EQ(Encode(Letters(), "x<unk>a"), (Ids{0, 1}));
}

TEST(UnigramModel, BytesStandInForWhatIsUnknown) {
  UnigramModel::Data data = Letters();
  data.fallback.emplace();
  data.fallback->fill(-1);
  (*data.fallback)[0xC3] = 20;
  (*data.fallback)[0xA9] = 21;
  EXPECT_EQ(Encode(data, "éa"), (Ids{20, 21, 1}));
  EXPECT_EQ(Encode(data, "ééa"), (Ids{20, 21, 20, 21, 1}));
  EXPECT_EQ(Encode(data, "éxa"), (Ids{0, 1}));  // x has no token, so none of them stands in
}

TEST(UnigramModel, OfEqualSumsTheEarliestBeginCounts) {
  const UnigramModel::Data data = {.tokens = {{"<unk>", 0}, {"a", -1}, {"aa", -1}, {"aaa", -2}}};
  EXPECT_EQ(Encode(data, "aaa"), (Ids{3}));       // −2, as aa + a
  EXPECT_EQ(Encode(data, "aaaaa"), (Ids{2, 3}));  // −3, as aa + aaa
}

/// All ways to cut a text, by definition.
double BestSum(const UnigramModel::Data& data, std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  double best = -std::numeric_limits<double>::infinity();
  for (const UnigramModel::Token& token : data.tokens) {
    if (text.starts_with(token.text)) {
      best = std::max(best, token.score + BestSum(data, text.substr(token.text.size())));
    }
  }
  return best;
}

TEST(UnigramModel, TakesTheBestOfAllWays) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    UnigramModel::Data data = {.tokens = {{"<unk>", 0}}};
    for (const std::string text : {"a", "b", "ab", "ba", "aab", "bba", "abab"}) {
      data.tokens.push_back({text, -static_cast<double>(random() % 64) / 8});
    }
    std::string text;
    for (std::size_t length = random() % 12; text.size() < length;) {
      text += random() % 2 == 0 ? 'a' : 'b';
    }
    double sum = 0;
    std::string joined;
    for (const TokenId id : Encode(data, text)) {
      sum += data.tokens[id].score;
      joined += data.tokens[id].text;
    }
    EXPECT_EQ(joined, text);
    EXPECT_EQ(sum, BestSum(data, text));
  }
}

TEST(PrefixTree, FindsEveryEntry) {
  const PrefixTree tree({{"ab", 1}, {"a", 2}, {"", 3}, {"abcd", 4}, {"b", 5}, {"ab", 6}});
  Ids found;
  tree.ForEachPrefix("abcd", [&](std::size_t length, TokenId id) {
    found.push_back(static_cast<TokenId>(length));
    found.push_back(id);
  });
  EXPECT_EQ(found, (Ids{1, 2, 2, 6, 4, 4}));
  EXPECT_EQ(tree.Find("b"), 5);
  EXPECT_EQ(tree.Find("abc"), std::nullopt);
  EXPECT_EQ(tree.Find(""), std::nullopt);
  EXPECT_EQ(PrefixTree({}).Find("a"), std::nullopt);
}

}  // namespace unigram_model_test
}  // namespace scorecast::coordinator
