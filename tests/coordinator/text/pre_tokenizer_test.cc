#include "coordinator/text/steps/pre_tokenizer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace pre_tokenizer_test {

using testing::ElementsAre;

std::vector<std::string> Cut(const PreTokenizer& pre_tokenizer, std::string_view text,
                             bool at_start = true) {
  std::vector<std::string> pieces;
  pre_tokenizer.Cut({text, text.empty() ? 0 : FirstCodePoint(text).length}, at_start,
                    [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

template <typename... Step>
PreTokenizer Steps(Step... step) {
  std::vector<PreTokenizer::Step> steps;
  (steps.emplace_back(std::move(step)), ...);
  return PreTokenizer(std::move(steps));
}

std::vector<std::string> CutOnce(PreTokenizer::Step step, std::string_view text) {
  return Cut(Steps(std::move(step)), text);
}

CharacterSplitStep Digits(SplitBehavior behavior) { return {IsNumeric, behavior}; }

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
  EXPECT_THAT(CutOnce(Digits(SplitBehavior::kIsolated), "a12٣½b"),
              ElementsAre("a", "1", "2", "٣", "½", "b"));
  EXPECT_THAT(CutOnce(Digits(SplitBehavior::kContiguous), "a12٣½b3"),
              ElementsAre("a", "12٣½", "b", "3"));
}

TEST(PreTokenizer, ByteLevelCutsByGpt2sExpressionAndAddsASpace) {
  const PreTokenizer plain = Steps(ByteLevelStep(false, true));
  EXPECT_THAT(Cut(plain, "Hello there's  42!\n\n"),
              ElementsAre("Hello", " there", "'s", " ", " 42", "!", "\n\n"));
  const PreTokenizer spaced = Steps(ByteLevelStep(true, true));
  EXPECT_THAT(Cut(spaced, "a b"), ElementsAre(" a", " b"));
  EXPECT_THAT(Cut(spaced, " a"), ElementsAre(" a"));
  EXPECT_THAT(Cut(spaced, "\na"), ElementsAre(" ", "\n", "a"));
  EXPECT_THAT(Cut(spaced, ""), ElementsAre());
}

TEST(PreTokenizer, PutsNoSpaceBeforeALaterSection) {
  const PreTokenizer spaced = Steps(Digits(SplitBehavior::kContiguous), ByteLevelStep(true, true));
  EXPECT_THAT(Cut(spaced, "a1b"), ElementsAre(" a", " 1", " b"));
  EXPECT_THAT(Cut(spaced, "a1b", false), ElementsAre("a", " 1", " b"));
  EXPECT_THAT(Cut(spaced, " a", false), ElementsAre(" a"));
  EXPECT_THAT(Cut(spaced, "", false), ElementsAre());
}

TEST(PreTokenizer, CutsAtPunctuationAndWhiteSpace) {
  const auto punctuation = [](SplitBehavior behavior) {
    return CutOnce(CharacterSplitStep{IsPunctuation, behavior}, "a,b!?c$d、e⁇");
  };
  EXPECT_THAT(punctuation(SplitBehavior::kIsolated),
              ElementsAre("a", ",", "b", "!", "?", "c", "$", "d", "、", "e", "⁇"));
  EXPECT_THAT(punctuation(SplitBehavior::kContiguous),
              ElementsAre("a", ",", "b", "!?", "c", "$", "d", "、", "e", "⁇"));
  EXPECT_THAT(CutOnce(CharacterSplitStep{IsWhiteSpace, SplitBehavior::kRemoved}, " a \u3000b\n"),
              ElementsAre("a", "b"));
  EXPECT_THAT(CutOnce(WhitespaceStep{}, " It's  été, 3½!\t?"),
              ElementsAre("It", "'", "s", "été", ",", "3", "½!", "?"));
  EXPECT_THAT(CutOnce(WhitespaceStep{}, " \n"), ElementsAre());
}

TEST(PreTokenizer, MetaspaceSpellsSpaces) {
  using Prepend = MetaspaceStep::Prepend;
  const auto metaspace = [](Prepend prepend, bool split) {
    return MetaspaceStep{.replacement = "▁", .prepend = prepend, .split = split};
  };
  EXPECT_THAT(CutOnce(metaspace(Prepend::kAlways, true), "a  b c "),
              ElementsAre("▁a", "▁", "▁b", "▁c", "▁"));
  EXPECT_THAT(CutOnce(metaspace(Prepend::kAlways, false), "a  b"), ElementsAre("▁a▁▁b"));
  EXPECT_THAT(CutOnce(metaspace(Prepend::kAlways, false), " a"), ElementsAre("▁a"));
  EXPECT_THAT(CutOnce(metaspace(Prepend::kAlways, false), "▁a"), ElementsAre("▁a"));
  EXPECT_THAT(CutOnce(metaspace(Prepend::kNever, true), "a b"), ElementsAre("a", "▁b"));
  // Each piece of an earlier step is a text of its own, but only one of them is at the beginning of
  // the whole text.
  const auto after_digits = [&](Prepend prepend) {
    return Steps(Digits(SplitBehavior::kContiguous), metaspace(prepend, true));
  };
  EXPECT_THAT(Cut(after_digits(Prepend::kAlways), "a1b"), ElementsAre("▁a", "▁1", "▁b"));
  EXPECT_THAT(Cut(after_digits(Prepend::kFirst), "a1b"), ElementsAre("▁a", "1", "b"));
  EXPECT_THAT(Cut(after_digits(Prepend::kAlways), "a1b", false), ElementsAre("a", "▁1", "▁b"));
  EXPECT_THAT(Cut(after_digits(Prepend::kFirst), "a1b", false), ElementsAre("a", "1", "b"));
}

}  // namespace pre_tokenizer_test
}  // namespace scorecast::coordinator
