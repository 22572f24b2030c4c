#include "coordinator/text/pre_tokenizer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace {

using testing::ElementsAre;

std::vector<std::string> Cut(const PreTokenizer& pre_tokenizer, std::string_view text,
                             bool at_start = true) {
  std::vector<std::string> pieces;
  pre_tokenizer.Cut(text, at_start, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

std::vector<std::string> CutOnce(PreTokenizer::Step step, std::string_view text) {
  std::vector<PreTokenizer::Step> steps;
  steps.push_back(std::move(step));
  return Cut(PreTokenizer(std::move(steps), false, false), text);
}

// The example from the reference's documentation of NormalizedString::split.
TEST(PreTokenizer, SplitsAsEachBehaviourSays) {
  const auto split = [](SplitBehavior behavior, bool invert = false) {
    return CutOnce(SplitStep{Regex("-"), behavior, invert}, "the-final--countdown");
  };
  EXPECT_THAT(split(SplitBehavior::kRemoved), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split(SplitBehavior::kIsolated),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split(SplitBehavior::kMergedWithPrevious),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(split(SplitBehavior::kMergedWithNext),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(split(SplitBehavior::kContiguous),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(split(SplitBehavior::kRemoved, true), ElementsAre("-", "-", "-"));
}

TEST(PreTokenizer, SplitsByExpression) {
  EXPECT_THAT(CutOnce(SplitStep{Regex("[0-9]+"), SplitBehavior::kIsolated}, "a12b3"),
              ElementsAre("a", "12", "b", "3"));
  // An empty match cuts at its place.
  EXPECT_THAT(CutOnce(SplitStep{Regex("(?=b)"), SplitBehavior::kIsolated}, "ébéb"),
              ElementsAre("é", "bé", "b"));
  EXPECT_THAT(CutOnce(SplitStep{Regex("x*"), SplitBehavior::kIsolated}, "éx"),
              ElementsAre("é", "x"));
}

TEST(PreTokenizer, CutsOffDigits) {
  EXPECT_THAT(CutOnce(DigitsStep{true}, "a12٣½b"), ElementsAre("a", "1", "2", "٣", "½", "b"));
  EXPECT_THAT(CutOnce(DigitsStep{false}, "a12٣½b3"), ElementsAre("a", "12٣½", "b", "3"));
}

TEST(PreTokenizer, ByteLevelCutsByGpt2sExpressionAndAddsASpace) {
  const PreTokenizer plain({}, false, true);
  EXPECT_THAT(Cut(plain, "Hello there's  42!\n\n"),
              ElementsAre("Hello", " there", "'s", " ", " 42", "!", "\n\n"));
  const PreTokenizer spaced({}, true, true);
  EXPECT_THAT(Cut(spaced, "a b"), ElementsAre(" a", " b"));
  EXPECT_THAT(Cut(spaced, " a"), ElementsAre(" a"));
  EXPECT_THAT(Cut(spaced, "\na"), ElementsAre(" ", "\n", "a"));
  EXPECT_THAT(Cut(spaced, ""), ElementsAre());
}

TEST(PreTokenizer, PutsNoSpaceBeforeALaterSection) {
  std::vector<PreTokenizer::Step> steps;
  steps.emplace_back(DigitsStep{});
  const PreTokenizer spaced(std::move(steps), true, true);
  EXPECT_THAT(Cut(spaced, "a1b"), ElementsAre(" a", " 1", " b"));
  EXPECT_THAT(Cut(spaced, "a1b", false), ElementsAre("a", " 1", " b"));
  EXPECT_THAT(Cut(spaced, " a", false), ElementsAre(" a"));
  EXPECT_THAT(Cut(spaced, "", false), ElementsAre());
}

}  // namespace
}  // namespace scorecast::coordinator
