// A text that continues another has the tokens of the whole text, for every kind of tokenizer.

#include "coordinator/text/continued_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {
namespace {

using Ids = std::vector<TokenId>;

const std::filesystem::path kOwn =
    std::filesystem::path(SCORECAST_TESTS_DIR) / "coordinator" / "text" / "data";
/// Its model removes extra spaces.
const std::filesystem::path kDemo = std::filesystem::path(SCORECAST_TESTS_DIR) / "demo_model";
const std::filesystem::path kShared =
    std::filesystem::path(SCORECAST_SHARED_DIR) / "golden" / "tokenizers";

std::vector<std::filesystem::path> Directories() {
  std::vector<std::filesystem::path> directories;
  for (const std::filesystem::path& root : {kOwn, kDemo, kShared}) {
    if (!std::filesystem::exists(root)) {
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (std::filesystem::exists(entry.path() / "tokenizer.json") ||
          std::filesystem::exists(entry.path() / "tokenizer.model")) {
        directories.push_back(entry.path());
      }
    }
  }
  std::sort(directories.begin(), directories.end());
  return directories;
}

/// Parts of which texts are put together: words, spaces, digits, characters that combine, and
/// whatever tokenizers treat in a special way.
constexpr std::array kParts = std::to_array<std::string_view>({"a",
                                                               "b",
                                                               "the",
                                                               "harbour",
                                                               " the",
                                                               " sea",
                                                               "ing",
                                                               "'s",
                                                               "'",
                                                               "don't",
                                                               "I'LL",
                                                               " ",
                                                               "  ",
                                                               "   ",
                                                               "\t",
                                                               "\n",
                                                               "\n\n",
                                                               "\r\n",
                                                               "\r",
                                                               " \n",
                                                               "0",
                                                               "7",
                                                               "12",
                                                               "345",
                                                               "1,000.5",
                                                               ".",
                                                               ",",
                                                               "...",
                                                               "!?",
                                                               "-",
                                                               "(",
                                                               ")",
                                                               "é",
                                                               "e",
                                                               "\u0301",
                                                               "\u0323",
                                                               "\u0327",
                                                               "ﬁ",
                                                               "Å",
                                                               "\u1100",
                                                               "\u1161",
                                                               "\u11A8",
                                                               "각",
                                                               "가",
                                                               "か",
                                                               "\u3099",
                                                               "ガ",
                                                               "\uFF76",
                                                               "\uFF9E",
                                                               "海",
                                                               "港",
                                                               "。",
                                                               "日本語",
                                                               "的",
                                                               "Я",
                                                               "привет",
                                                               "\u0627",
                                                               "\u0644",
                                                               "\u0915",
                                                               "\u094D",
                                                               "\u0937",
                                                               "\u09BE",
                                                               "ไทย",
                                                               "😀",
                                                               "👩\u200D👩\u200D👧",
                                                               "🇩🇪",
                                                               "\U0001F1E9",
                                                               "\U0001F3FD",
                                                               "\u200D",
                                                               "\uFE0F",
                                                               "\u00A0",
                                                               "\u3000",
                                                               "\u2028",
                                                               "\u0085",
                                                               "\u200B",
                                                               "\u0001",
                                                               "\u007F",
                                                               "▁",
                                                               "▁▁",
                                                               " ▁",
                                                               "<",
                                                               "<|",
                                                               "<|im_",
                                                               "<|im_end|>",
                                                               "<|im_start|>",
                                                               "<|endoftext|>",
                                                               "|>",
                                                               "</s>",
                                                               "<s>",
                                                               "</",
                                                               "s>",
                                                               "<unk>",
                                                               "<0x41>",
                                                               "[INST]",
                                                               "[",
                                                               "<|eot_id|>",
                                                               "_",
                                                               "x_y"});

class Texts {
 public:
  explicit Texts(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    for (const SpecialToken& token : tokenizer.special_tokens()) {
      special_.push_back(token.text);
    }
  }

  std::string Next(std::size_t most_parts) {
    std::string text;
    for (std::size_t i = Below(most_parts + 1); i > 0; --i) {
      text += Part();
    }
    return text;
  }

  std::size_t Below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

 private:
  std::string Part() {
    switch (Below(4)) {
      case 0: {  // A token of the vocabulary: its neighbours often merge with it.
        const auto id =
            static_cast<TokenId>(Below(static_cast<std::size_t>(tokenizer_.vocab_size())));
        return tokenizer_.Decode(Ids{id});
      }
      case 1:
        if (!special_.empty() && Below(3) == 0) {
          return special_[Below(special_.size())];
        }
        [[fallthrough]];
      default:
        return std::string(kParts[Below(kParts.size())]);
    }
  }

  const Tokenizer& tokenizer_;
  std::vector<std::string> special_;
  std::mt19937 random_{20261122};
};

/// The code points' ends of a text.
std::vector<std::size_t> Borders(std::string_view text) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      borders.push_back(i);
    }
  }
  return borders;
}

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

class Continued : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override {
    tokenizer_ = LoadTokenizer(GetParam());
    ASSERT_NE(tokenizer_, nullptr);
  }

  /// False after a failure.
  bool Check(std::string_view query, std::string_view item, SpecialTokensInText special_tokens) {
    const ContinuedText text = ContinuedText::Make(*tokenizer_, query, special_tokens).value();
    EXPECT_EQ(text.ids(), FromStart(*tokenizer_, query, special_tokens))
        << "query " << testing::PrintToString(query);
    EXPECT_EQ(text.Continue(item).value(),
              FromStart(*tokenizer_, std::string(query) + std::string(item), special_tokens))
        << "query " << testing::PrintToString(query) << ", item " << testing::PrintToString(item)
        << ", cut " << tokenizer_->FindOpenEnd(query, {.special_tokens = special_tokens}).cut;
    return !HasFailure();
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(Continued, TokensAreThoseOfTheJointText) {
  Texts texts(*tokenizer_);
  for (int i = 0; i < 4000; ++i) {
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
  for (int i = 0; i < 100; ++i) {
    const std::string query = texts.Next(i % 10 == 0 ? 600 : 60);
    const ContinuedText text =
        ContinuedText::Make(*tokenizer_, query, SpecialTokensInText::kAllow).value();
    for (int j = 0; j < 30; ++j) {
      const std::string item = texts.Next(3);
      ASSERT_EQ(text.Continue(item).value(),
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

std::string NameOf(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.filename().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Continued, testing::ValuesIn(Directories()), NameOf);

/// All but two kinds of tokenizers. "splits" removes every space, and every piece gets a space.
/// "sentencepiece-unigram" adds up the scores of a whole text, so its cuts depend on the last bit
/// of a sum.
std::vector<std::filesystem::path> DirectoriesWithCuts() {
  std::vector<std::filesystem::path> directories = Directories();
  std::erase_if(directories, [](const std::filesystem::path& directory) {
    return directory.filename() == "splits" || directory.filename() == "sentencepiece-unigram";
  });
  return directories;
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, ContinuedWithCuts, testing::ValuesIn(DirectoriesWithCuts()),
                         NameOf);

}  // namespace
}  // namespace scorecast::coordinator
