#include "coordinator/text/unicode/utf8.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "coordinator/text/unicode/byte_alphabet.h"

namespace scorecast::coordinator {
namespace utf8_test {

using namespace std::string_view_literals;

TEST(Utf8, EveryCodePointIsSpelledAndReadAlike) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c == 0xD800) {
      c = 0xE000;
    }
    std::string text;
    AppendUtf8(c, text);
    ASSERT_TRUE(IsValidUtf8(text)) << std::hex << static_cast<std::uint32_t>(c);
    ASSERT_EQ(FirstCodePoint(text).value, c);
    ASSERT_EQ(FirstCodePoint(text).length, text.size());
    ASSERT_EQ(LastCodePoint("x" + text).value, c);
  }
}

TEST(Utf8, TellsWhatIsInvalid) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8("a\0é日🎉"sv));
  for (const std::string_view text :
       {"\x80"sv, "a\xFF"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xC3"sv, "\xE0\x9F\xBF"sv,
        "\xED\xA0\x80"sv, "\xED\xBF\xBF"sv, "\xE6\x97"sv, "\xF0\x8F\xBF\xBF"sv,
        "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xF0\x9F\x8E"sv, "\xE6\x97\x41"sv}) {
    EXPECT_FALSE(IsValidUtf8(text)) << testing::PrintToString(text);
  }
}

TEST(Utf8, MaximalPartsBecomeOneReplacementEach) {
  // The example of the Unicode Standard 15, table 3-11.
  EXPECT_EQ(ReplaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  // Table 3-8: every byte of an overlong form becomes one; so does every byte of a surrogate (table
  // 3-9).
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80\x41"), "\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(ReplaceInvalidUtf8("é日🎉"), "é日🎉");
  EXPECT_EQ(ReplaceInvalidUtf8(""), "");
}

TEST(ByteAlphabet, SpellsEveryByteAsGpt2Does) {
  EXPECT_EQ(ByteSpelling(' '), "Ġ");
  EXPECT_EQ(ByteSpelling('\n'), "Ċ");
  EXPECT_EQ(ByteSpelling('a'), "a");
  EXPECT_EQ(ByteSpelling(0xAD), "Ń");
  EXPECT_EQ(ByteSpelling(0x00), "Ā");
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(BytesOfSpelling(ByteSpelling(static_cast<std::uint8_t>(byte))),
              std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(BytesOfSpelling("a b"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("日"), std::nullopt);
}

}  // namespace utf8_test
}  // namespace scorecast::coordinator
