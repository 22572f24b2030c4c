#include "proto/base/one_line.h"

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace one_line_test {

TEST(OneLineTest, KeepsOrdinaryText) { EXPECT_EQ(OneLine("models/日本語"), "models/日本語"); }

TEST(OneLineTest, EscapesControlCharacters) {
  EXPECT_EQ(OneLine(std::string_view("a\nb\x1b[0m\0\x7f", 9)), "a\\x0ab\\x1b[0m\\x00\\x7f");
}

TEST(OneLineTest, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(OneLine("abcdef", 6), "abcdef");
  EXPECT_EQ(OneLine("abcdef", 5), "abcde…");
  EXPECT_EQ(OneLine("ab日本", 4), "ab…");
  EXPECT_EQ(OneLine("\x80\x80\x80", 2), "…");
}

TEST(OneLineTest, Quotes) {
  EXPECT_EQ(Quoted("lm_head.weight"), "\"lm_head.weight\"");
  EXPECT_EQ(Quoted("a\tb"), "\"a\\x09b\"");
  EXPECT_EQ(Quoted("abcdef", 4), "\"abcd…\"");
}

}  // namespace one_line_test
}  // namespace scorecast::proto
