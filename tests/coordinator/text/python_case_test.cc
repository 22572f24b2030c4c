// The case of all characters against Python's: tests/golden/make/python_texts.py.

#include "coordinator/text/unicode/python_case.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/text/unicode/utf8.h"
#include "proto/base/digest.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace python_case_test {

nlohmann::json Golden() {
  return nlohmann::json::parse(std::ifstream(std::filesystem::path(reference::kTestsDirectory) /
                                             "golden" / "python_texts.json"));
}

/// Calls `visit` with each character as text.
template <typename Visit>
void ForEachCharacter(const Visit& visit) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c < 0xD800 || c > 0xDFFF) {
      std::string character;
      AppendUtf8(c, character);
      visit(c, character);
    }
  }
}

std::string DigestIn(LetterCase wanted) {
  std::string texts;
  ForEachCharacter([&](char32_t /*c*/, const std::string& character) {
    AppendInCase(character, 0, wanted, texts);
    texts += '\n';
  });
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(proto::DigestOf(texts)));
  return text;
}

TEST(PythonCase, AllCharactersAreThoseOfPython) {
  const nlohmann::json golden = Golden();
  EXPECT_EQ(DigestIn(LetterCase::kUpper), golden.at("upper").get<std::string>());
  EXPECT_EQ(DigestIn(LetterCase::kLower), golden.at("lower").get<std::string>());
  EXPECT_EQ(DigestIn(LetterCase::kTitle), golden.at("title").get<std::string>());
  std::int64_t count = 0;
  std::int64_t sum = 0;
  ForEachCharacter([&](char32_t c, const std::string& /*character*/) {
    // These letters are newer than the Unicode of Python 3.11.
    const bool is_new = c >= 0x1DF25 && c <= 0x1DF2A;
    count += IsCased(c) && !is_new ? 1 : 0;
    sum += IsCased(c) && !is_new ? c : 0;
  });
  EXPECT_EQ(count, golden.at("cased").at(0).get<std::int64_t>());
  EXPECT_EQ(sum, golden.at("cased").at(1).get<std::int64_t>());
}

TEST(PythonCase, ASigmaThatEndsAWordHasAFormOfItsOwn) {
  const auto lower = [](const std::string& text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();
         at += FirstCodePoint(std::string_view(text).substr(at)).length) {
      AppendInCase(text, at, LetterCase::kLower, result);
    }
    return result;
  };
  EXPECT_EQ(lower("ΟΔΟΣ"), "οδος");
  EXPECT_EQ(lower("ΑΣΑ Α.Σ. Α.ΣΑ Σ"), "ασα α.ς. α.σα σ");
}

}  // namespace python_case_test
}  // namespace scorecast::coordinator
