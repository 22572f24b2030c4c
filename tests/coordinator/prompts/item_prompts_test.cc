// Items between a head and what follows them. tests/coordinator/rerank/rerank_prompts_test.cc has
// the tokens of the whole string for every kind of tokenizer.

#include "coordinator/prompts/item_prompts.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {
namespace item_prompts_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TokenId kBos = 259;
constexpr TokenId kAb = 257;
constexpr TokenId kCd = 258;

const FakeTokenizer& Merging() {
  static const FakeTokenizer tokenizer({{"ab", kAb}, {"cd", kCd}}, kBos);
  return tokenizer;
}

/// Prompts whose head is `text`, all of whose tokens are the prefix.
ItemPrompts Behind(std::string_view text, std::string behind, std::vector<TokenId> after,
                   const EncodeLimits& limits = {}) {
  ContinuedText head = ContinuedText::Make(Merging(), text, SpecialTokensInText::kAllow).value();
  const std::size_t size = head.ids().size();
  return ItemPrompts::Make(Merging(),
                           {.head = std::move(head),
                            .prefix_tokens = size,
                            .behind = std::move(behind),
                            .after = std::move(after)},
                           limits)
      .value();
}

TEST(ItemPrompts, WhatFollowsAnItemMayMergeWithIt) {
  const ItemPrompts prompts = Behind("xa", "d?", {7});
  EXPECT_THAT(prompts.prefix(), ElementsAre(kBos, 'x', 'a'));
  const Continuation plain = prompts.Uncut("1").value();
  EXPECT_FALSE(plain.is_whole);
  EXPECT_THAT(plain.ids, ElementsAre('1', 'd', '?', 7));
  EXPECT_THAT(plain.head, IsEmpty());
  EXPECT_THAT(prompts.Uncut("1c").value().ids, ElementsAre('1', kCd, '?', 7));
  const Continuation merged = prompts.Uncut("b1").value();
  EXPECT_TRUE(merged.is_whole);
  EXPECT_THAT(merged.ids, ElementsAre(kBos, 'x', kAb, '1', 'd', '?', 7));
}

TEST(ItemPrompts, AnItemIsCutAndWhatFollowsIsNot) {
  const ItemPrompts prompts = Behind("xa", "?", {7});
  const Continuation cut = prompts.Item("12345", {.max_item_tokens = 2}).value();
  EXPECT_THAT(cut.ids, ElementsAre('1', '2', '?', 7));
  const Continuation start =
      prompts.Item("12345", {.max_prompt_tokens = 7, .cut = Truncation::Side::kLeft}).value();
  EXPECT_THAT(start.ids, ElementsAre('4', '5', '?', 7));
  EXPECT_EQ(prompts.Item("12345", {.max_prompt_tokens = 9, .cut = std::nullopt}).error(),
            EncodeFault::kTooManyTokens);
  const Continuation whole =
      prompts.Item("12345", {.max_prompt_tokens = 10, .cut = std::nullopt}).value();
  EXPECT_THAT(whole.ids, ElementsAre('1', '2', '3', '4', '5', '?', 7));
  EXPECT_EQ(prompts.Item("", {.max_prompt_tokens = 4}).error(), EncodeFault::kTooManyTokens);
}

TEST(ItemPrompts, AnItemThatIsNotCutIsLimitedWithWhatFollows) {
  const ItemPrompts prompts = Behind("xa", "?", {7});
  EXPECT_TRUE(prompts.Uncut("123", {.max_tokens = 8}));
  EXPECT_EQ(prompts.Uncut("123", {.max_tokens = 7}).error(), EncodeFault::kTooManyTokens);
}

TEST(ItemPrompts, AnItemMayStandFirst) {
  ContinuedText head = ContinuedText::Make(Merging(), "xa", SpecialTokensInText::kAllow).value();
  const std::size_t certain = head.certain_tokens();
  const ItemPrompts prompts = ItemPrompts::Make(Merging(), {.head = std::move(head),
                                                            .prefix_tokens = certain,
                                                            .is_item_first = true,
                                                            .between = "|",
                                                            .behind = "query",
                                                            .after = {7}})
                                  .value();
  for (const char* item : {"b1", "1", ""}) {
    const Continuation prompt = prompts.Uncut(item).value();
    std::vector<TokenId> all = prompt.is_whole ? std::vector<TokenId>() : prompts.prefix();
    all.insert(all.end(), prompt.head.begin(), prompt.head.end());
    all.insert(all.end(), prompt.ids.begin(), prompt.ids.end());
    std::vector<TokenId> expected =
        EncodeFromStart({}, Merging(), "xa" + std::string(item) + "|query",
                        SpecialTokensInText::kAllow)
            .value();
    expected.push_back(7);
    EXPECT_EQ(all, expected) << item;
  }
}

}  // namespace item_prompts_test
}  // namespace scorecast::coordinator
