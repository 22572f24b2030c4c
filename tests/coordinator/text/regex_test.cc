#include "coordinator/text/unicode/regex.h"

#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/text/unicode/regex_syntax.h"

namespace scorecast::coordinator {
namespace regex_test {

/// The first match of `expression` in `text`.
std::optional<std::string> First(std::string_view expression, std::string_view text) {
  const std::optional<RegexMatch> match = Regex(expression).Find(text, 0);
  if (!match) {
    return std::nullopt;
  }
  return std::string(text.substr(match->begin, match->end - match->begin));
}

TEST(Regex, FindsFromAPlaceOn) {
  const Regex regex("a+");
  const std::optional<RegexMatch> match = regex.Find("aa baaa", 2);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->begin, 4u);
  EXPECT_EQ(match->end, 7u);
  EXPECT_FALSE(regex.Find("aa b", 2));
  EXPECT_FALSE(regex.Find("aa", 2));
}

TEST(Regex, WhiteSpaceIsThePropertyOnly) {
  EXPECT_EQ(First(R"(\s+)", "a\u0085\u3000\u00a0b"), "\u0085\u3000\u00a0");
  EXPECT_EQ(First(R"(\s)", "\u180e\u200b\ufeff\x1c"), std::nullopt);
  EXPECT_EQ(First(R"([^\s\p{L}]+)", "a \u180e"), "\u180e");
  EXPECT_EQ(First(R"(\S+)", "\n\u180ex "), "\u180ex");
}

TEST(Regex, CaseFoldsAsUnicodeDoes) {
  EXPECT_EQ(First("(?i:'s|'k)", "x'ſ"), "'ſ");
  EXPECT_EQ(First("(?i:'s|'k)", "x'\u212a"), "'\u212a");
}

TEST(Regex, TranslatesWhatIsReadDifferently) {
  EXPECT_EQ(First(R"(\u65e5+)", "x日日"), "日日");
  EXPECT_EQ(First(R"(\v)", "\n\x0b"), "\x0b");
  // Only the script itself: U+3001 is not Han, although it is used with Han.
  EXPECT_EQ(First(R"(\p{Han}+)", "、日"), "日");
  EXPECT_EQ(First(R"(\P{Lu}+)", "ABcd"), "cd");
  EXPECT_EQ(First(R"(\p{^Lu}+)", "ABcd"), "cd");
  EXPECT_EQ(First(R"([\p{Lu}\x{30}-\x39]+)", "aB7"), "B7");
  EXPECT_EQ(First(R"([\]\-\\]+)", "a]\\-"), "]\\-");
  EXPECT_EQ(First("a{2,3}b{1}{", "aab{"), "aab{");
  EXPECT_EQ(First(R"((?<=a)b(?=c)|(?<!x)z(?!y)|(?>q))", "zyxzq"), "q");
}

TEST(Regex, QuotedTextMatchesItself) {
  std::string text = "日🎉é";
  for (char c = 0x7F; c > 0; --c) {
    text += c;
  }
  text += '\0';
  EXPECT_EQ(First(QuoteForRegex(text), "x" + text + "y"), text);
  EXPECT_EQ(First(QuoteForRegex("a.b"), "axb a.b"), "a.b");
}

TEST(Regex, RefusesWhatIsReadDifferently) {
  for (const std::string_view expression :
       {R"(\w+)",     R"(\bx)",     R"(\h)",    R"((a)\1)", R"(\K)",      R"(\Gx)",
        R"(\Ax)",     R"(^a)",      R"(a$)",    R"((?i)a)", R"((?m:a))",  R"((?<name>a))",
        R"((*UTF)a)", R"(a{1,3}+)", R"(a{2}?)", R"(a{,3})", R"([a[bc]])", R"([[:alpha:]])",
        R"([a&&b])",  R"([]a])",    R"(\xE9)",  R"(\p{L)",  R"(\pL)",     R"(\u12)",
        R"(\)",       R"(\p{a b})"}) {
    EXPECT_THROW(Regex{expression}, RegexError) << expression;
  }
}

TEST(Regex, RefusesWhatIsBroken) {
  for (const std::string_view expression :
       {"(", "[a", "*", "a)", R"(\p{Nonsense})", "(?<=a+)b", R"(\x{110000})"}) {
    EXPECT_THROW(Regex{expression}, RegexError) << expression;
  }
  EXPECT_THROW(Regex{std::string(100'000, 'a')}, RegexError);
}

TEST(Regex, AMessageNamesTheConstruct) {
  try {
    Regex{R"(\p{L}+\b)"};
    FAIL();
  } catch (const RegexError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(R"("\b")"));
  }
}

TEST(Regex, ALongMatchThatStepsBackSucceeds) {
  const std::string spaces(3'000'000, ' ');
  const Regex regex(R"(\s*[\r\n]+|\s+(?!\S)|\s+)");
  EXPECT_EQ(regex.Find(spaces, 0)->end, spaces.size());
  EXPECT_EQ(regex.Find(spaces + "x", 0)->end, spaces.size() - 1);
  // PCRE2 stores state for every repetition of a group.
  std::string long_run(300'000, 'a');
  long_run.push_back('c');
  EXPECT_EQ(Regex("(?:a|b)+(?=c)").Find(long_run, 0)->end, 300'000u);
}

TEST(Regex, GivesUpOnExponentialCost) {
  EXPECT_EQ(Regex("(?:a+)+b").Find(std::string(100, 'a'), 0), std::nullopt);
}

}  // namespace regex_test
}  // namespace scorecast::coordinator
