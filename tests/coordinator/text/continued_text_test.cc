// A text that continues another has the tokens of the whole text, for every kind of tokenizer.

#include "coordinator/text/continued_text.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/text/tokenizer.h"
#include "tests/coordinator/text/loaded_tokenizer.h"
#include "tests/coordinator/text/tokenizer_texts.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace continued_text_test {

using Ids = std::vector<TokenId>;

Ids FromStart(const Tokenizer& tokenizer, std::string_view text,
              SpecialTokensInText special_tokens) {
  Ids ids;
  if (tokenizer.bos()) {
    ids.push_back(*tokenizer.bos());
  }
  const Ids encoded = tokenizer.Encode(text, {.special_tokens = special_tokens});
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  return ids;
}

/// The tokens of `text` and a continuation, from the beginning.
Ids Joint(const ContinuedText& text, std::string_view continuation) {
  Ids ids = text.ids();
  ids.resize(text.certain_tokens());
  const Ids tail = text.ContinueTail(continuation).value();
  ids.insert(ids.end(), tail.begin(), tail.end());
  return ids;
}

class Continued : public testing::TestWithParam<TokenizerDirectory> {
 protected:
  void SetUp() override {
    tokenizer_ = LoadedTokenizer(GetParam().path);
    ASSERT_NE(tokenizer_, nullptr);
  }

  /// False after a failure.
  bool Check(std::string_view query, std::string_view item, SpecialTokensInText special_tokens) {
    const ContinuedText text = ContinuedText::Make(*tokenizer_, query, special_tokens).value();
    EXPECT_EQ(text.ids(), FromStart(*tokenizer_, query, special_tokens))
        << "query " << testing::PrintToString(query);
    EXPECT_EQ(Joint(text, item),
              FromStart(*tokenizer_, std::string(query) + std::string(item), special_tokens))
        << "query " << testing::PrintToString(query) << ", item " << testing::PrintToString(item)
        << ", cut " << tokenizer_->FindOpenEnd(query, {.special_tokens = special_tokens}).cut;
    return !HasFailure();
  }

  const Tokenizer* tokenizer_ = nullptr;
};

TEST_P(Continued, TokensAreThoseOfTheJointText) {
  Texts texts(*tokenizer_);
  for (int i = 0; i < Rounds(4000); ++i) {
    const auto special_tokens =
        texts.Below(4) == 0 ? SpecialTokensInText::kEscape : SpecialTokensInText::kAllow;
    const std::string text = texts.Next(12);
    const std::vector<std::size_t> borders = Borders(text);
    const std::size_t border = borders[texts.Below(borders.size())];
    if (!Check(text.substr(0, border), text.substr(border), special_tokens)) {
      return;
    }
  }
}

TEST_P(Continued, TheSameQueryServesManyItems) {
  Texts texts(*tokenizer_);
  for (int i = 0; i < Rounds(100); ++i) {
    const std::string query = texts.Next(i % 10 == 0 ? 600 : 60);
    const ContinuedText text =
        ContinuedText::Make(*tokenizer_, query, SpecialTokensInText::kAllow).value();
    for (int j = 0; j < 30; ++j) {
      const std::string item = texts.Next(3);
      ASSERT_EQ(Joint(text, item),
                FromStart(*tokenizer_, query + item, SpecialTokensInText::kAllow))
          << "query " << testing::PrintToString(query) << ", item " << testing::PrintToString(item)
          << ", cut " << tokenizer_->FindOpenEnd(query, {}).cut;
    }
  }
}

class ContinuedWithCuts : public Continued {};

// Otherwise the query would be tokenized again for each item.
TEST_P(ContinuedWithCuts, ATextOfWordsIsCutNearItsEnd) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += " the harbour, and don't sea 12.\n";
  }
  EXPECT_LT(text.size() - tokenizer_->FindOpenEnd(text, {}).cut, 40u);
}

TEST_P(Continued, EmptyTexts) {
  for (const char* text : {"", " ", "a", "\n"}) {
    Check("", text, SpecialTokensInText::kAllow);
    Check(text, "", SpecialTokensInText::kAllow);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Continued, testing::ValuesIn(TokenizerDirectories()),
                         NameOfTokenizer);

/// All but two kinds of tokenizers. "splits" removes every space, and every piece gets a space.
/// "sentencepiece-unigram" adds up the scores of a whole text, so its cuts depend on the last bit
/// of a sum.
std::vector<TokenizerDirectory> DirectoriesWithCuts() {
  std::vector<TokenizerDirectory> directories = TokenizerDirectories();
  std::erase_if(directories, [](const TokenizerDirectory& directory) {
    return directory.name() == "splits" || directory.name() == "sentencepiece-unigram";
  });
  return directories;
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, ContinuedWithCuts, testing::ValuesIn(DirectoriesWithCuts()),
                         NameOfTokenizer);

}  // namespace continued_text_test
}  // namespace scorecast::coordinator
