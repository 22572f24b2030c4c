#include "coordinator/generate/token_texts.h"

#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/text/unicode/utf8.h"
#include "tests/coordinator/generate/small_tokenizers.h"

namespace scorecast::coordinator {
namespace token_texts_test {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using Ids = std::vector<TokenId>;

class TokenTextsOf : public testing::TestWithParam<std::string> {
 protected:
  const std::unique_ptr<Tokenizer> tokenizer_ = SmallTokenizer(GetParam());
};

TEST_P(TokenTextsOf, BytesOfTokensJoinToTheirText) {
  const TokenTexts texts(tokenizer_.get(), false);
  int compared = 0;
  for (const std::string text : {"one two", "Zürich 日本語", "a  b\n\nc 1234", "x👩y \U00010384"}) {
    const Ids ids = tokenizer_->Encode(text);
    const std::string decoded = tokenizer_->Decode(ids);
    if (decoded.find("\uFFFD") != std::string::npos) {
      continue;  // The vocabulary lacks a character.
    }
    std::string joined;
    for (const TokenId id : ids) {
      joined += texts.BytesOf(id);
    }
    EXPECT_THAT(joined, AnyOf(decoded, " " + decoded))
        << "a token at a text's beginning keeps its space";
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(TokenTextsOf, SpellingsAreValidAndDiffer) {
  Ids ids(static_cast<std::size_t>(tokenizer_->vocab_size()) + 2);
  std::iota(ids.begin(), ids.end(), -1);
  const TokenTexts texts(tokenizer_.get(), false);
  const std::vector<std::string> spellings = texts.DistinctSpellingsOf(ids);
  for (const std::string& spelling : spellings) {
    EXPECT_TRUE(IsValidUtf8(spelling)) << spelling;
  }
  EXPECT_EQ(std::set(spellings.begin(), spellings.end()).size(), ids.size());
}

TEST_P(TokenTextsOf, PartsOfCharactersAreSpelledAsBytes) {
  const Ids ids = tokenizer_->Encode("\U00010384");
  const TokenTexts texts(tokenizer_.get(), false);
  if (ids.size() < 4 || tokenizer_->Decode(ids).find("\U00010384") == std::string::npos) {
    return;  // It is a token, or unknown.
  }
  EXPECT_EQ(texts.SpellingOf(ids.back()), R"(bytes:\x84)");
  EXPECT_THAT(texts.SpellingOf(ids.at(ids.size() - 2)), R"(bytes:\x8e)");
}

INSTANTIATE_TEST_SUITE_P(Small, TokenTextsOf, testing::ValuesIn(SmallTokenizers()),
                         NameOfTokenizer<testing::TestParamInfo<std::string>>);

TEST(TokenTexts, TheLastTokenOfAWordHasTheSpaceBehindIt) {
  const auto tokenizer = SmallTokenizer("word-ends");
  const TokenTexts texts(tokenizer.get(), false);
  const Ids ids = tokenizer->Encode("one two");
  ASSERT_EQ(tokenizer->Decode(ids), "one two");
  std::string joined;
  for (const TokenId id : ids) {
    joined += texts.BytesOf(id);
  }
  EXPECT_EQ(joined, "one two ");
}

TEST(TokenTexts, MayBeIds) {
  const auto tokenizer = SmallTokenizer("sentencepiece-bpe");
  EXPECT_EQ(TokenTexts(tokenizer.get(), true).SpellingOf(7), "token_id:7");
  EXPECT_EQ(TokenTexts(nullptr, false).SpellingOf(7), "token_id:7");
  EXPECT_EQ(TokenTexts(nullptr, false).BytesOf(7), "");
}

TEST(TokenTexts, ATokenThatIsSpelledAsAnotherIsAnId) {
  const auto tokenizer = SmallTokenizer("sentencepiece-bpe");
  const TokenTexts texts(tokenizer.get(), false);
  const Ids one = tokenizer->Encode("one");
  const std::string spelling = texts.SpellingOf(one.front());
  EXPECT_THAT(texts.DistinctSpellingsOf(Ids{one.front(), one.front()}),
              ElementsAre(spelling, "token_id:" + std::to_string(one.front())));
}

TEST(CountCharacters, CountsCodePoints) {
  EXPECT_EQ(CountCharacters(""), 0);
  EXPECT_EQ(CountCharacters("aé日👩"), 4);
}

}  // namespace token_texts_test
}  // namespace scorecast::coordinator
