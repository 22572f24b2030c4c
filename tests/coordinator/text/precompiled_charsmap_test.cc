// tokenizer_vectors_test.cc tests a real table of SentencePiece.

#include "coordinator/text/steps/precompiled_charsmap.h"

#include <string>

#include <gtest/gtest.h>

#include "coordinator/text/files/base64.h"

namespace scorecast::coordinator {
namespace precompiled_charsmap_test {

std::string Word(std::uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
  }
  return bytes;
}

/// A table with one rule, from "a" to `replacement`: the root's offset is 1, "a" goes to unit
/// 1 ^ 'a', whose offset 2 leads to its leaf.
std::string TableFor(std::string_view replacement, std::uint32_t value = 0) {
  std::string units;
  for (std::uint32_t unit = 0; unit < 128; ++unit) {
    const std::uint32_t at_a = 1 ^ 'a';
    if (unit == 0) {
      units += Word(1 << 10);
    } else if (unit == at_a) {
      units += Word((2 << 10) | (1 << 8) | 'a');
    } else if (unit == (at_a ^ 2)) {
      units += Word(0x80000000 | value);
    } else {
      units += Word(0);
    }
  }
  return Word(static_cast<std::uint32_t>(units.size())) + units + std::string(replacement) + '\0';
}

TEST(PrecompiledCharsmap, FindsTheRuleOfAText) {
  const auto charsmap = PrecompiledCharsmap::Parse(TableFor("xyz"));
  ASSERT_TRUE(charsmap.has_value());
  EXPECT_EQ(charsmap->Find("a"), "xyz");
  EXPECT_EQ(charsmap->Find("ab"), "xyz");
  EXPECT_EQ(charsmap->Find("b"), std::nullopt);
  EXPECT_EQ(charsmap->Find(""), std::nullopt);
  EXPECT_EQ(PrecompiledCharsmap::Parse(TableFor("xyz", 2))->Find("a"), "z");
  EXPECT_EQ(PrecompiledCharsmap::Parse(TableFor("xyz", 3))->Find("a"), "");
}

TEST(PrecompiledCharsmap, LooksUpShortGraphemesWhole) {
  const auto charsmap = PrecompiledCharsmap::Parse(TableFor("xyz"));
  ASSERT_TRUE(charsmap.has_value());
  const auto mapped = [&](std::string_view text) {
    std::string result;
    for (const PrecompiledCharsmap::Part& part : charsmap->Cut(text)) {
      result += part.replacement.value_or(part.text);
    }
    return result;
  };
  EXPECT_EQ(mapped("bab"), "bxyzb");
  // The accent belongs to the grapheme that the rule replaces.
  EXPECT_EQ(mapped("a\u0301b"), "xyzb");
  // One with three accents has seven bytes, and each of its characters is looked up.
  EXPECT_EQ(mapped("a\u0301\u0301\u0301b"), "xyz\u0301\u0301\u0301b");
}

TEST(PrecompiledCharsmap, RefusesBrokenTables) {
  const std::string table = TableFor("é");
  EXPECT_FALSE(PrecompiledCharsmap::Parse(""));
  EXPECT_FALSE(PrecompiledCharsmap::Parse(Word(0)));
  EXPECT_FALSE(PrecompiledCharsmap::Parse(Word(8) + Word(0)));
  EXPECT_FALSE(PrecompiledCharsmap::Parse(table.substr(0, table.size() - 2)));  // half an é
  EXPECT_FALSE(PrecompiledCharsmap::Parse(Word(UINT32_MAX)));
  EXPECT_EQ(PrecompiledCharsmap::Parse(TableFor("é", 1))->Find("a"), std::nullopt);
  EXPECT_EQ(PrecompiledCharsmap::Parse(TableFor("é", 99))->Find("a"), std::nullopt);
}

TEST(Base64, IsDecoded) {
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("AP8="), std::string("\0\xFF", 2));
  EXPECT_EQ(DecodeBase64("TWFu"), "Man");
  EXPECT_EQ(DecodeBase64("TQ=="), "M");
  EXPECT_EQ(DecodeBase64("TWF"), std::nullopt);
  EXPECT_EQ(DecodeBase64("TW u"), std::nullopt);
  EXPECT_EQ(DecodeBase64("T=Fu"), std::nullopt);
}

}  // namespace precompiled_charsmap_test
}  // namespace scorecast::coordinator
