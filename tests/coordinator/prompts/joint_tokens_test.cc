// The tokens of a query and its items: joined, each alone, or the item first.

#include "coordinator/prompts/joint_tokens.h"

#include <atomic>
#include <span>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {
namespace joint_tokens_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<TokenId>;

constexpr TokenId kBos = 259;
constexpr TokenId kAb = 257;
constexpr std::int64_t kMany = 1000;

const FakeTokenizer& Merging() {
  static const FakeTokenizer tokenizer({{"ab", kAb}}, kBos);
  return tokenizer;
}

JointOptions Continued(bool item_first = false) {
  return {.tokenizer = &Merging(), .items_continue_query = true, .item_first = item_first};
}

JointOptions Alone(bool item_first = false) {
  return {.tokenizer = &Merging(), .item_first = item_first};
}

JointTokens Make(TextOrTokens query, const JointOptions& options) {
  return JointTokens::Make(query, options, kMany).value();
}

TEST(JointTokens, AnItemThatMergesIsAWholePrompt) {
  const JointTokens tokens = Make("xa", Continued());
  EXPECT_THAT(tokens.query(), ElementsAre(kBos, 'x', 'a'));
  const Continuation merged = tokens.Item("b1", kMany).value();
  EXPECT_TRUE(merged.is_whole);
  EXPECT_THAT(merged.ids, ElementsAre(kBos, 'x', kAb, '1'));
  const Continuation behind = tokens.Item("c", kMany).value();
  EXPECT_FALSE(behind.is_whole);
  EXPECT_THAT(behind.ids, ElementsAre('c'));
  const Continuation empty = tokens.Item("", kMany).value();
  EXPECT_FALSE(empty.is_whole);
  EXPECT_THAT(empty.ids, IsEmpty());
}

TEST(JointTokens, AnItemAloneNeverMerges) {
  const JointTokens tokens = Make("xa", Alone());
  const Continuation item = tokens.Item("b1", kMany).value();
  EXPECT_FALSE(item.is_whole);
  EXPECT_THAT(item.ids, ElementsAre('b', '1'));
}

TEST(JointTokens, APromptHasBoth) {
  const auto prompt = [](TextOrTokens query, TextOrTokens item, const JointOptions& options) {
    const Continuation whole = Make(query, options).Prompt(item, kMany).value();
    EXPECT_TRUE(whole.is_whole);
    return whole.ids;
  };
  EXPECT_THAT(prompt("xa", "b", Continued()), ElementsAre(kBos, 'x', kAb));
  EXPECT_THAT(prompt("xa", "c", Continued()), ElementsAre(kBos, 'x', 'a', 'c'));
  EXPECT_THAT(prompt("xa", "b", Alone()), ElementsAre(kBos, 'x', 'a', 'b'));
  EXPECT_THAT(prompt("b", "xa", Continued(/*item_first=*/true)), ElementsAre(kBos, 'x', kAb));
  EXPECT_THAT(prompt("b", "xa", Alone(/*item_first=*/true)), ElementsAre(kBos, 'x', 'a', 'b'));
}

TEST(JointTokens, IdsAreTakenAsTheyAre) {
  const Ids query = {'x', 'a'};
  const Ids item = {'b'};
  for (const bool item_first : {false, true}) {
    JointOptions options = Continued(item_first);
    options.tokenizer = nullptr;
    const JointTokens tokens = Make(std::span(query), options);
    EXPECT_EQ(tokens.query(), query);
    EXPECT_EQ(tokens.Item(std::span(item), kMany).value().ids, item);
    EXPECT_EQ(tokens.Prompt(std::span(item), kMany).value().ids,
              item_first ? Ids({'b', 'x', 'a'}) : Ids({'x', 'a', 'b'}));
  }
}

TEST(JointTokens, TextsEndAtTheLimitOfTheWhole) {
  for (const JointOptions& options : {Continued(), Alone()}) {
    EXPECT_FALSE(JointTokens::Make("1234", options, 4));
    ASSERT_TRUE(JointTokens::Make("1234", options, 5));
    const JointTokens tokens = Make("1234", options);
    EXPECT_EQ(tokens.Item("567", 7).error(), EncodeFault::kTooManyTokens);
    EXPECT_TRUE(tokens.Item("567", 8));
    EXPECT_EQ(tokens.Prompt("567", 7).error(), EncodeFault::kTooManyTokens);
    EXPECT_TRUE(tokens.Prompt("567", 8));
  }
  for (const JointOptions& options : {Continued(true), Alone(true)}) {
    const JointTokens tokens = Make("1234", options);
    EXPECT_EQ(tokens.Prompt("567", 7).error(), EncodeFault::kTooManyTokens);
    EXPECT_TRUE(tokens.Prompt("567", 8));
  }
}

TEST(JointTokens, StopsEarly) {
  const std::atomic<bool> stop = true;
  const Interruption interruption(stop);
  JointOptions options = Continued();
  options.interruption = &interruption;
  EXPECT_EQ(JointTokens::Make("x", options, kMany).error(), EncodeFault::kStopped);
}

}  // namespace joint_tokens_test
}  // namespace scorecast::coordinator
