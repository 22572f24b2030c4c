// What messages are made of: numbers with their nouns, texts from outside, and exceptions.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/fault_text.h"
#include "proto/base/one_line.h"

namespace scorecast::proto {
namespace message_text_test {

TEST(Count, TheNounAgreesWithTheNumber) {
  EXPECT_EQ(Count(0, "rank"), "0 ranks");
  EXPECT_EQ(Count(1, "rank"), "1 rank");
  EXPECT_EQ(Count(2, "rank"), "2 ranks");
  EXPECT_EQ(Count(std::size_t{1}, "query", "queries"), "1 query");
  EXPECT_EQ(Count(std::size_t{21}, "query", "queries"), "21 queries");
  EXPECT_EQ(Count(std::numeric_limits<std::uint64_t>::max(), "byte"), "18446744073709551615 bytes");
}

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

template <typename Function>
std::string TextOfFault(const Function& function) {
  try {
    function();
  } catch (const std::exception& fault) {
    return FaultText(fault);
  }
  return "";
}

TEST(FaultText, IsNotTheStandardLibrarys) {
  EXPECT_EQ(TextOfFault([] { throw std::bad_alloc(); }), "there is not enough memory");
  EXPECT_EQ(TextOfFault([] { (void)std::filesystem::file_size("/nonexistent/a\nb"); }),
            "/nonexistent/a\\x0ab: No such file or directory");
  EXPECT_EQ(TextOfFault([] { throw StartupError("--port is wrong"); }), "--port is wrong");
}

}  // namespace message_text_test
}  // namespace scorecast::proto
