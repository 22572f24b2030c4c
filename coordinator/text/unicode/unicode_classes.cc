#include "coordinator/text/unicode/unicode_classes.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <utf8proc.h>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

struct Range {
  char32_t first = 0;
  char32_t last = 0;
};

/// Punctuation that is newer than the reference's table.
constexpr std::array<Range, 32> kNewPunctuation = {
    {{0x61D, 0x61D},     {0x9FD, 0x9FD},     {0xA76, 0xA76},     {0xC77, 0xC77},
     {0xC84, 0xC84},     {0x1B7D, 0x1B7E},   {0x2E43, 0x2E4F},   {0x2E52, 0x2E5D},
     {0x10EAD, 0x10EAD}, {0x10F55, 0x10F59}, {0x10F86, 0x10F89}, {0x1144B, 0x1144F},
     {0x1145A, 0x1145B}, {0x1145D, 0x1145D}, {0x11660, 0x1166C}, {0x116B9, 0x116B9},
     {0x1183B, 0x1183B}, {0x11944, 0x11946}, {0x119E2, 0x119E2}, {0x11A3F, 0x11A46},
     {0x11A9A, 0x11A9C}, {0x11A9E, 0x11AA2}, {0x11B00, 0x11B09}, {0x11C41, 0x11C45},
     {0x11C70, 0x11C71}, {0x11EF7, 0x11EF8}, {0x11F43, 0x11F4F}, {0x11FFF, 0x11FFF},
     {0x12FF1, 0x12FF2}, {0x16E97, 0x16E9A}, {0x16FE2, 0x16FE2}, {0x1E95E, 0x1E95F}}};

/// Nonspacing marks that are newer than the reference's table.
constexpr std::array<Range, 32> kNewNonspacingMarks = {
    {{0x7FD, 0x7FD},     {0x898, 0x8E1},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
     {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
     {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
     {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFB},   {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},
     {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
     {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
     {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x1182F, 0x13455}, {0x16F4F, 0x16F4F},
     {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF}, {0x1E944, 0x1E94A}}};

/// Marks that are newer than the reference's table.
constexpr std::array<Range, 34> kNewMarks = {
    {{0x7FD, 0x7FD},     {0x898, 0x8D3},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
     {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xCF3, 0xD00},     {0xD3B, 0xD3C},
     {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x1715, 0x1715},
     {0x180F, 0x180F},   {0x1ABF, 0x1ACE},   {0x1CF7, 0x1CF7},   {0x1DF6, 0x1DFA},
     {0xA82C, 0xA82C},   {0xA8FF, 0xA8FF},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
     {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
     {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x11A99},
     {0x11D31, 0x13455}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87}, {0x16FE4, 0x16FF1},
     {0x1CF00, 0x1CF46}, {0x1E08F, 0x1E4EF}}};

/// Word characters that are newer than utf8proc's tables (Unicode 15); the reference's are of
/// Unicode 16.
constexpr std::array<Range, 32> kNewWordCharacters = {
    {{0x897, 0x897},     {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},
     {0x105C0, 0x105F3}, {0x10D40, 0x10D65}, {0x10D69, 0x10D6D}, {0x10D6F, 0x10D85},
     {0x10EC2, 0x10EC4}, {0x10EFC, 0x10EFC}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
     {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113C0}, {0x113C2, 0x113C2},
     {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D3}, {0x113E1, 0x113E2},
     {0x116D0, 0x116E3}, {0x11BC0, 0x11BE0}, {0x11BF0, 0x11BF9}, {0x11F5A, 0x11F5A},
     {0x13460, 0x143FA}, {0x16100, 0x16139}, {0x16D40, 0x16D6C}, {0x16D70, 0x16D79},
     {0x18CFF, 0x18CFF}, {0x1CCF0, 0x1CCF9}, {0x1E5D0, 0x1E5FA}, {0x2EBF0, 0x2EE5D}}};

/// Numerals that are newer than utf8proc's tables; the reference's are of Unicode 17.
constexpr std::array<Range, 9> kNewNumerals = {{{0x10D40, 0x10D49},
                                                {0x116D0, 0x116E3},
                                                {0x11BF0, 0x11BF9},
                                                {0x11DE0, 0x11DE9},
                                                {0x16130, 0x16139},
                                                {0x16D70, 0x16D79},
                                                {0x16FF4, 0x16FF6},
                                                {0x1CCF0, 0x1CCF9},
                                                {0x1E5F1, 0x1E5FA}}};

template <std::size_t size>
bool IsIn(const std::array<Range, size>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return range.first <= c && c <= range.last; });
}

utf8proc_category_t Category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

bool IsWhiteSpace(char32_t c) {
  // General categories do not suffice: U+0085 is white space, but its category is control
  // character.
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsWordCharacter(char32_t c) {
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    case UTF8PROC_CATEGORY_SO:
      // Circled and squared letters are symbols by category, but have the property Alphabetic.
      return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
             (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
    default:
      return c == 0x200C || c == 0x200D || IsIn(kNewWordCharacters, c);
  }
}

bool IsNumeric(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO || IsIn(kNewNumerals, c);
}

bool IsPunctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  if (c == 0x166D || c == 0x111C9) {
    return true;  // These two were punctuation in the old version.
  }
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return !IsIn(kNewPunctuation, c);
    default:
      return false;
  }
}

bool IsNonspacingMark(char32_t c) {
  if (c == 0x1734) {
    return true;  // It was a nonspacing mark in the old version.
  }
  return Category(c) == UTF8PROC_CATEGORY_MN && !IsIn(kNewNonspacingMarks, c);
}

bool IsMark(char32_t c) {
  if (c == 0x1CF2 || c == 0x1CF3) {
    return true;  // These two were marks in the old version.
  }
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return !IsIn(kNewMarks, c);
    default:
      return false;
  }
}

bool IsControl(char32_t c) {
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      // These are newer than the reference's table.
      return c != 0x890 && c != 0x891 && c != 0x8E2 && c != 0x110CD &&
             !(c >= 0x13430 && c <= 0x1343F);
    default:
      return false;
  }
}

bool IsChinese(char32_t c) {
  return (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

void AppendLowercase(char32_t c, std::string& text) {
  AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), text);
  if (c == 0x130) {  // "İ" becomes "i" and a dot above, the only lower case of two characters.
    AppendUtf8(0x307, text);
  }
}

std::string_view WithoutLeadingSpace(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!IsWhiteSpace(first.value)) {
      break;
    }
    text.remove_prefix(first.length);
  }
  return text;
}

}  // namespace scorecast::coordinator
