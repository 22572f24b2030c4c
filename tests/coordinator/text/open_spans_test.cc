#include "coordinator/text/unicode/open_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace open_spans_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::size_t> Borders(std::string_view text, std::string_view expression,
                                 SplitBehavior behavior, bool invert = false) {
  return CertainBorders(FindOpenSpans(text, Regex(expression)), behavior, invert);
}

TEST(OpenSpans, AMatchThatMayGoOnIsNotCertain) {
  const OpenSpans words = FindOpenSpans("one two", Regex(R"(\p{L}+| )"));
  EXPECT_EQ(words.end(), 4u) << "\"two\" may go on";
  EXPECT_EQ(words.searched, 4u);
  const OpenSpans digits = FindOpenSpans("12345", Regex(R"(\p{N}{1,2})"));
  EXPECT_EQ(digits.end(), 4u);
  const OpenSpans whole = FindOpenSpans("1234", Regex(R"(\p{N}{2})"));
  EXPECT_EQ(whole.end(), 4u) << "a match of fixed length does not look further";
}

TEST(OpenSpans, AnExpressionThatLooksAheadWaitsForMoreText) {
  EXPECT_EQ(FindOpenSpans("a  ", Regex(R"(\s+(?!\S)|\s)")).end(), 0u);
  EXPECT_EQ(FindOpenSpans("a  b", Regex(R"(\s+(?!\S)|\s)")).end(), 3u);
  EXPECT_EQ(FindOpenSpans("xy'", Regex("'s|y|'")).end(), 2u) << "an s may follow";
}

TEST(OpenSpans, NothingIsCertainIfAnExpressionLooksBehind) {
  const OpenSpans spans = FindOpenSpans("a b c", Regex("(?<=a) "));
  EXPECT_THAT(spans.spans, IsEmpty());
  EXPECT_EQ(spans.searched, 0u);
}

TEST(OpenSpans, TextWithoutMatchIsSearchedToItsEnd) {
  const OpenSpans spans = FindOpenSpans("abc", Regex("x"));
  EXPECT_THAT(spans.spans, IsEmpty());
  EXPECT_EQ(spans.searched, 3u);
  EXPECT_EQ(FindOpenSpans("abcx", Regex("xy")).searched, 3u) << "a y may follow";
}

TEST(CertainBorders, DependOnTheBehavior) {
  // The spans of "a--b-c": a, -, -, b, -, c.
  EXPECT_THAT(Borders("a--b-c", "-", SplitBehavior::kIsolated), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Borders("a--b-c", "-", SplitBehavior::kRemoved), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Borders("a--b-c", "-", SplitBehavior::kContiguous), ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(Borders("a--b-c", "-", SplitBehavior::kMergedWithPrevious), ElementsAre(2, 3, 5));
  EXPECT_THAT(Borders("a--b-c", "-", SplitBehavior::kMergedWithNext), ElementsAre(1, 2, 4));
}

TEST(CertainBorders, AMatchAtTheEndMayBeFollowedByAnything) {
  EXPECT_THAT(Borders("a-", "-", SplitBehavior::kIsolated), ElementsAre(1, 2));
  EXPECT_THAT(Borders("a-", "-", SplitBehavior::kContiguous), ElementsAre(1));
  EXPECT_THAT(Borders("a-", "-", SplitBehavior::kMergedWithPrevious), ElementsAre(2));
  EXPECT_THAT(Borders("a-", "-", SplitBehavior::kMergedWithNext), ElementsAre(1));
}

TEST(CertainBorders, MayBeInverted) {
  EXPECT_THAT(Borders("a-b-", "-", SplitBehavior::kMergedWithPrevious, /*invert=*/true),
              ElementsAre(1, 3));
  EXPECT_THAT(Borders("a-b-", "-", SplitBehavior::kMergedWithNext, /*invert=*/true),
              ElementsAre(2));
}

}  // namespace open_spans_test
}  // namespace scorecast::coordinator
