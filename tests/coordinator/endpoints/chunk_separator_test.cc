#include "coordinator/endpoints/chunk_separator.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace chunk_separator_test {

using ::testing::ElementsAre;

constexpr std::string_view kSeparator = " # # ";

TEST(SplitAtSeparators, SystemPromptChunksAndQuestion) {
  const auto split = SplitAtSeparators("sys # # chunk1 # # chunk2 # # question", kSeparator);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->system_prompt, "sys");
  EXPECT_THAT(split->chunks, ElementsAre("chunk1", "chunk2"));
  EXPECT_EQ(split->question, "question");
}

TEST(SplitAtSeparators, FewerThanTwoSeparatorsDoNotSplit) {
  EXPECT_FALSE(SplitAtSeparators("", kSeparator));
  EXPECT_FALSE(SplitAtSeparators("a question", kSeparator));
  EXPECT_FALSE(SplitAtSeparators("sys # # question", kSeparator));
  EXPECT_FALSE(SplitAtSeparators("sys # #  # #question", kSeparator)) << "the second is cut short";
}

TEST(SplitAtSeparators, AnyPartMayBeEmpty) {
  const auto split = SplitAtSeparators(" # #  # #  # # ", kSeparator);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->system_prompt, "");
  EXPECT_THAT(split->chunks, ElementsAre("", ""));
  EXPECT_EQ(split->question, "");
}

TEST(SplitAtSeparators, SeparatorsAreLeftmostAndDoNotOverlap) {
  // Five separators' worth of "##": "#" remains, and goes to the question.
  const auto split = SplitAtSeparators("a#####b", "##");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->system_prompt, "a");
  EXPECT_THAT(split->chunks, ElementsAre(""));
  EXPECT_EQ(split->question, "#b");
  EXPECT_FALSE(SplitAtSeparators("a # # # # b", kSeparator)) << "the two overlap in a space";
  EXPECT_FALSE(SplitAtSeparators("aba", "aba"));
}

TEST(SplitAtSeparators, TakesTimeLinearInTheText) {
  std::string prompt;
  for (int i = 0; i < 200'000; ++i) {
    prompt += "x # # ";
  }
  const auto split = SplitAtSeparators(prompt, kSeparator);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->chunks.size(), 199'999U);
}

}  // namespace chunk_separator_test
}  // namespace scorecast::coordinator
