#include "coordinator/text/unicode/python_case.h"

#include <algorithm>
#include <array>

#include <utf8proc.h>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;
constexpr char32_t kIota = 0x3B9;
constexpr char32_t kIotaBelow = 0x345;

struct CasedRange {
  char32_t first = 0;
  char32_t last = 0;
};

/// Characters with the property Cased whose category is none of a capital, small or titlecase
/// letter.
constexpr std::array<CasedRange, 27> kOtherCased = {
    {{0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
     {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},
     {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
     {0x2090, 0x209C},   {0x2160, 0x217F},   {0x24B6, 0x24E9},   {0x2C7C, 0x2C7D},
     {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
     {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA},
     {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}}};

/// Punctuation with the property Case_Ignorable.
constexpr std::array<char32_t, 17> kIgnoredPunctuation = {
    0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
    0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};

utf8proc_int32_t Signed(char32_t code_point) { return static_cast<utf8proc_int32_t>(code_point); }

/// The property Case_Ignorable.
bool IsCaseIgnorable(char32_t c) {
  switch (utf8proc_category(Signed(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::ranges::find(kIgnoredPunctuation, c) != kIgnoredPunctuation.end();
  }
}

/// Whether the sigma at the byte `at`, whose length is `length`, ends a word: behind a letter, and
/// before none.
bool IsFinalSigma(std::string_view text, std::size_t at, std::size_t length) {
  std::string_view before = text.substr(0, at);
  while (!before.empty() && IsCaseIgnorable(LastCodePoint(before).value)) {
    before.remove_suffix(LastCodePoint(before).length);
  }
  if (before.empty() || !IsCased(LastCodePoint(before).value)) {
    return false;
  }
  std::string_view behind = text.substr(at + length);
  while (!behind.empty() && IsCaseIgnorable(FirstCodePoint(behind).value)) {
    behind.remove_prefix(FirstCodePoint(behind).length);
  }
  return behind.empty() || !IsCased(FirstCodePoint(behind).value);
}

/// The small letters that a small or titlecase letter is made of, such as those of a ligature.
std::u32string PartsOf(char32_t c) {
  if (utf8proc_category(Signed(c)) == UTF8PROC_CATEGORY_LU) {
    return {c};
  }
  std::array<utf8proc_int32_t, 4> parts{};
  int boundary = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(Signed(c), parts.data(), parts.size(), UTF8PROC_CASEFOLD, &boundary);
  if (count < 2 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    return {c};
  }
  return {parts.begin(), parts.begin() + count};
}

char32_t Capital(char32_t c) { return static_cast<char32_t>(utf8proc_toupper(Signed(c))); }
char32_t Title(char32_t c) { return static_cast<char32_t>(utf8proc_totitle(Signed(c))); }

void AppendUpper(char32_t c, std::string& result) {
  for (const char32_t part : PartsOf(c)) {
    AppendUtf8(Capital(part), result);
  }
}

void AppendTitle(char32_t c, std::string& result) {
  std::u32string parts = PartsOf(c);
  const bool is_single = utf8proc_category(Signed(Title(c))) == UTF8PROC_CATEGORY_LT;
  if (parts.size() == 1 || is_single) {
    AppendUtf8(Title(c), result);
    return;
  }
  // The first letter that has one gets a capital, and a last iota stands below what is before it.
  const auto letter =
      std::ranges::find_if(parts, [](char32_t part) { return Title(part) != part; });
  if (letter != parts.end()) {
    *letter = Title(*letter);
  }
  if (parts.back() == kIota) {
    parts.back() = kIotaBelow;
  }
  for (const char32_t part : parts) {
    AppendUtf8(part, result);
  }
}

}  // namespace

bool IsCased(char32_t c) {
  switch (utf8proc_category(Signed(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return std::ranges::any_of(kOtherCased, [&](const CasedRange& range) {
        return range.first <= c && c <= range.last;
      });
  }
}

void AppendInCase(std::string_view text, std::size_t at, LetterCase wanted, std::string& result) {
  const CodePoint character = FirstCodePoint(text.substr(at));
  switch (wanted) {
    case LetterCase::kUpper:
      AppendUpper(character.value, result);
      return;
    case LetterCase::kTitle:
      AppendTitle(character.value, result);
      return;
    case LetterCase::kLower:
      break;
  }
  if (character.value == kCapitalSigma && IsFinalSigma(text, at, character.length)) {
    AppendUtf8(kFinalSigma, result);
  } else {
    AppendLowercase(character.value, result);
  }
}

}  // namespace scorecast::coordinator
