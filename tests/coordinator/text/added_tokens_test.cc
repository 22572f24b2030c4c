#include "coordinator/text/steps/added_tokens.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/text/unicode/unicode_classes.h"

namespace scorecast::coordinator {
namespace added_tokens_test {

using testing::ElementsAre;

/// The parts of a text: "text" for plain text, "#ID:text" for a token and the text it covers.
std::vector<std::string> Cut(const AddedTokens& tokens, std::string_view text,
                             SpecialTokensInText special_tokens = SpecialTokensInText::kAllow) {
  std::vector<std::string> parts;
  tokens.Cut(text, {.special_tokens = special_tokens}, [&](const AddedTokens::Part& part) {
    const std::string id = part.id >= 0 ? "#" + std::to_string(part.id) + ":" : "";
    parts.push_back(id + std::string(part.text));
  });
  return parts;
}

Normalizer Nfc() {
  std::vector<Normalizer::Step> steps;
  steps.emplace_back(UnicodeForm::kNfc);
  return Normalizer(std::move(steps));
}

TEST(AddedTokens, AreFoundLeftmostThenLongest) {
  const AddedTokens tokens({{.id = 1, .content = "ab"},
                            {.id = 2, .content = "abcd"},
                            {.id = 3, .content = "bcde"},
                            {.id = 4, .content = ""}},
                           Normalizer());
  EXPECT_THAT(Cut(tokens, "xabcdey"), ElementsAre("x", "#2:abcd", "ey"));
  EXPECT_THAT(Cut(tokens, "abc"), ElementsAre("#1:ab", "c"));
  EXPECT_THAT(Cut(tokens, "bcdeab"), ElementsAre("#3:bcde", "#1:ab"));
  EXPECT_THAT(Cut(tokens, ""), ElementsAre());
  EXPECT_THAT(Cut(tokens, "none"), ElementsAre("none"));
}

TEST(AddedTokens, TakeWhiteSpaceAlong) {
  const AddedTokens tokens(
      {{.id = 1, .content = "<l>", .lstrip = true}, {.id = 2, .content = "<r>", .rstrip = true}},
      Normalizer());
  EXPECT_THAT(Cut(tokens, "a \u3000\n<l> b"), ElementsAre("a", "#1: \u3000\n<l>", " b"));
  EXPECT_THAT(Cut(tokens, "a <r> \u2003b"), ElementsAre("a ", "#2:<r> \u2003", "b"));
  // <l> takes no white space, because <r> has already taken it.
  EXPECT_THAT(Cut(tokens, "<r>  <l>"), ElementsAre("#2:<r>  ", "#1:<l>"));
}

// As in the reference: <r> takes all white space behind it. A token of white space that is in there
// is lost if it takes white space itself; otherwise it is found, too.
TEST(AddedTokens, WhiteSpaceThatATokenTookIsNoTokenThatTakesSomeItself) {
  const AddedTokens tokens({{.id = 1, .content = "\n\n", .lstrip = true},
                            {.id = 2, .content = "<r>", .rstrip = true},
                            {.id = 3, .content = "\t"}},
                           Normalizer());
  EXPECT_THAT(Cut(tokens, "<r>\n\na\n\n"), ElementsAre("#2:<r>\n\n", "a", "#1:\n\n"));
  EXPECT_THAT(Cut(tokens, "<r>\ta"), ElementsAre("#2:<r>\t", "#3:\t", "a"));
}

// A token that another one has taken as white space is no token any more if it takes white space
// itself.
TEST(AddedTokens, OfWhiteSpaceMayBeTakenAlong) {
  const AddedTokens tokens({{.id = 1, .content = "<r>", .rstrip = true},
                            {.id = 2, .content = " ", .lstrip = true},
                            {.id = 3, .content = "\t"}},
                           Normalizer());
  EXPECT_THAT(Cut(tokens, "<r> a b"), ElementsAre("#1:<r> ", "a", "#2: ", "b"));
  EXPECT_THAT(Cut(tokens, "<r>\n a"), ElementsAre("#1:<r>\n ", "a"));
  EXPECT_THAT(Cut(tokens, "<r>\ta"), ElementsAre("#1:<r>\t", "#3:\t", "a"));
}

TEST(AddedTokens, SingleWordsStandAlone) {
  const AddedTokens tokens({{.id = 1, .content = "word", .single_word = true}}, Normalizer());
  EXPECT_THAT(Cut(tokens, "a word."), ElementsAre("a ", "#1:word", "."));
  EXPECT_THAT(Cut(tokens, "swords"), ElementsAre("swords"));
  EXPECT_THAT(Cut(tokens, "word_ éword wordword"), ElementsAre("word_ éword wordword"));
}

TEST(AddedTokens, NormalizedOnesAreFoundInWhatIsLeft) {
  const AddedTokens tokens({{.id = 1, .content = "e\u0301", .normalized = true},
                            {.id = 2, .content = "e\u0301x", .normalized = false},
                            {.id = 3, .content = "\u00e9", .special = true, .normalized = true}},
                           Nfc());
  // Tokens 1 and 3 are equal when normalized; the special one wins.
  EXPECT_THAT(Cut(tokens, "ae\u0301b\u00e9"), ElementsAre("a", "#3:\u00e9", "b", "#3:\u00e9"));
  EXPECT_THAT(Cut(tokens, "e\u0301x"), ElementsAre("#2:e\u0301x"));
  EXPECT_THAT(Cut(tokens, "\u00e9x"), ElementsAre("#3:\u00e9", "x"));
}

// As in the reference, an escaped token is found, and the search continues behind it.
TEST(AddedTokens, EscapableOnesMayBeEscaped) {
  const AddedTokens tokens({{.id = 1, .content = "<s>", .escapable = true},
                            {.id = 2, .content = "<t>"},
                            {.id = 3, .content = "s>", .normalized = true},
                            {.id = 4, .content = "<n>", .normalized = true, .escapable = true},
                            {.id = 5, .content = "s>-"}},
                           Normalizer());
  EXPECT_THAT(Cut(tokens, "a<s><t><n>", SpecialTokensInText::kEscape),
              ElementsAre("a<", "#3:s>", "#2:<t>", "<n>"));
  EXPECT_THAT(Cut(tokens, "<s>-s>-", SpecialTokensInText::kEscape),
              ElementsAre("<", "#3:s>", "-", "#5:s>-"));
  EXPECT_THAT(Cut(tokens, "a<s><t><n>"), ElementsAre("a", "#1:<s>", "#2:<t>", "#4:<n>"));
}

/// The last certain cut of a text whose end is open.
std::size_t LastCut(const AddedTokens& tokens, std::string_view text) {
  OpenPiece piece{.text = OpenText::FromRaw(text)};
  tokens.GoToLast({}, piece);
  return piece.cut;
}

TEST(AddedTokens, ATokenBeginsAtACertainCut) {
  const AddedTokens tokens({{.id = 1, .content = "  ", .single_word = true},
                            {.id = 2, .content = " ", .lstrip = true},
                            {.id = 3, .content = "<s>"}},
                           Normalizer());
  EXPECT_EQ(LastCut(tokens, "b<s>c"), 1u);
  EXPECT_EQ(LastCut(tokens, "b<s"), 0u);
  EXPECT_EQ(LastCut(tokens, "b. <s>"), 3u);
  // Behind the word, the first two spaces are no token, and the third token takes them. If the text
  // began with them, they would be token 1.
  EXPECT_THAT(Cut(tokens, "b   <"), ElementsAre("b", "#2:   ", "<"));
  EXPECT_THAT(Cut(tokens, "   <"), ElementsAre("#1:  ", "#2: ", "<"));
  EXPECT_EQ(LastCut(tokens, "b   <"), 0u);
}

// The space is no token behind the letter, but it would be one if the text began with it.
TEST(AddedTokens, AreNotCutBeforeARejectedMatchThatTheyTakeAlong) {
  const AddedTokens tokens(
      {{.id = 1, .content = "<l>", .lstrip = true}, {.id = 2, .content = " ", .single_word = true}},
      Normalizer());
  EXPECT_THAT(Cut(tokens, "a <l>b"), ElementsAre("a", "#1: <l>", "b"));
  EXPECT_THAT(Cut(tokens, " <l>b"), ElementsAre("#2: ", "#1:<l>", "b"));
  OpenPiece piece{.text = OpenText::FromRaw("a <l>b")};
  tokens.GoToLast({}, piece);
  EXPECT_EQ(piece.cut, 0u);
  EXPECT_EQ(piece.text.text, "b");
}

TEST(UnicodeClasses, AreThoseOfTheReference) {
  for (const char32_t c : {U' ', U'\t', U'\n', U'\u0085', U'\u00a0', U'\u2028', U'\u3000'}) {
    EXPECT_TRUE(IsWhiteSpace(c));
  }
  for (const char32_t c : {U'a', U'\u180e', U'\u200b', U'\ufeff', U'\x1c'}) {
    EXPECT_FALSE(IsWhiteSpace(c));
  }
  for (const char32_t c : {U'a', U'_', U'3', U'é', U'日', U'\u0301', U'\u200d', U'ⓐ', U'Ⅷ'}) {
    EXPECT_TRUE(IsWordCharacter(c));
  }
  for (const char32_t c : {U' ', U'-', U'½', U'🎉', U'\u200b'}) {
    EXPECT_FALSE(IsWordCharacter(c));
  }
  for (const char32_t c : {U'3', U'٣', U'½', U'Ⅷ', U'²', U'㊿'}) {
    EXPECT_TRUE(IsNumeric(c));
  }
  // New in Unicode 15.1, 16 and 17.
  for (const char32_t c : {U'\U0002EBF0', U'\U00016D59', U'\U00010D40', U'\u0897'}) {
    EXPECT_TRUE(IsWordCharacter(c));
  }
  for (const char32_t c : {U'\U00010D40', U'\U00011DE0'}) {
    EXPECT_TRUE(IsNumeric(c));
  }
  EXPECT_FALSE(IsWordCharacter(U'\U00011DE0'));
  EXPECT_FALSE(IsNumeric(U'a'));
  EXPECT_FALSE(IsNumeric(U'日'));
}

}  // namespace added_tokens_test
}  // namespace scorecast::coordinator
