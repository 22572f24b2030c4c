#include "coordinator/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/reference/directories.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace sentencepiece_tokenizer_test {

using proto::StartupError;
using Ids = std::vector<TokenId>;

constexpr TokenId kUnknown = 0;
constexpr TokenId kBos = 1;
constexpr TokenId kEos = 2;

std::string ReadModel(const std::string& name) {
  std::ifstream stream(std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" /
                           "data" / name / "tokenizer.model",
                       std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

class SentencePiece : public testing::Test {
 protected:
  const std::string model_ = ReadModel("sentencepiece-bpe");
  const SentencePieceTokenizer tokenizer_{model_, {}, "tokenizer.model"};

  static Ids Joined(const std::vector<Ids>& parts) {
    Ids all;
    for (const Ids& part : parts) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
};

TEST_F(SentencePiece, AddsBosAlone) {
  EXPECT_EQ(tokenizer_.bos(), kBos);
  EXPECT_EQ(tokenizer_.added_prefix(), Ids{kBos});
  EXPECT_EQ(tokenizer_.added_suffix(), Ids{});
  EXPECT_EQ(tokenizer_.EncodeWithAdded(""), Ids{kBos});
  EXPECT_EQ(tokenizer_.kind(), "SentencePiece");
}

TEST_F(SentencePiece, TheConfigurationSaysOtherwise) {
  const SentencePieceTokenizer none(model_, {.add_bos_token = false}, "tokenizer.model");
  EXPECT_EQ(none.bos(), std::nullopt);
  EXPECT_EQ(none.added_prefix(), Ids{});
  const SentencePieceTokenizer both(model_, {.add_bos_token = true, .add_eos_token = true},
                                    "tokenizer.model");
  EXPECT_EQ(both.added_prefix(), Ids{kBos});
  EXPECT_EQ(both.added_suffix(), Ids{kEos});
}

TEST_F(SentencePiece, PutsNoSpaceBeforeALaterSection) {
  const EncodeOptions later = {.at_start = false};
  EXPECT_EQ(tokenizer_.Encode("", later), Ids{});
  for (const std::string text :
       {"harbour", " harbour", "  a", "\n", "龘", "3", "ein Text, länger"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(tokenizer_.Encode(" " + text, later), tokenizer_.Encode(text));
    EXPECT_NE(tokenizer_.Encode(text, later), tokenizer_.Encode(text));
    // All other options of the model are kept: spaces, split digits, bytes of unknown characters.
    EXPECT_EQ(tokenizer_.Decode(Joined({tokenizer_.Encode("x"), tokenizer_.Encode(text, later)})),
              "x" + text);
  }
}

// The model removes the spaces at the beginning of a text, and then puts one there.
TEST(SentencePieceUnigram, ALaterSectionKeepsItsSpace) {
  const SentencePieceTokenizer unigram(ReadModel("sentencepiece-unigram"), {}, "tokenizer.model");
  const EncodeOptions later = {.at_start = false};
  EXPECT_EQ(unigram.Encode("  harbour"), unigram.Encode("harbour"));
  EXPECT_EQ(unigram.Encode(" harbour", later), unigram.Encode("harbour"));
  EXPECT_EQ(unigram.Encode("  harbour", later), unigram.Encode("harbour"));
  EXPECT_NE(unigram.Encode("harbour", later), unigram.Encode("harbour"));
}

TEST_F(SentencePiece, SpellingsOfControlTokensAreText) {
  EXPECT_EQ(tokenizer_.SingleToken("</s>"), std::nullopt);
  EXPECT_THAT(tokenizer_.Encode("a</s>b<s>"), testing::Not(testing::Contains(kEos)));
  EXPECT_EQ(tokenizer_.Decode(tokenizer_.Encode("a</s>b<s>")), "a</s>b<s>");
}

TEST_F(SentencePiece, DecodingKeepsControlTokens) {
  const Ids harbour = tokenizer_.Encode("harbour");
  EXPECT_EQ(tokenizer_.Decode(Joined({{kBos}, harbour, {kEos}})), "<s>harbour</s>");
  // Only the mark of the very first word is the space that encoding adds in front.
  EXPECT_EQ(tokenizer_.Decode(Joined({harbour, {kEos}, harbour})), "harbour</s> harbour");
  EXPECT_EQ(tokenizer_.Decode(Ids{kEos, kEos}), "</s></s>");
  EXPECT_EQ(tokenizer_.Decode(Ids{kUnknown}), " \u2047 ");
  EXPECT_EQ(tokenizer_.Decode({}), "");
}

TEST_F(SentencePiece, DecodesBytesAndReplacesHalfCharacters) {
  // A character that is not in the vocabulary falls back to its three bytes.
  const Ids ids = tokenizer_.Encode("龘");
  ASSERT_GE(ids.size(), 3u);
  EXPECT_EQ(tokenizer_.Decode(ids), "龘");
  Ids cut = ids;
  cut.pop_back();
  EXPECT_EQ(tokenizer_.Decode(cut), "\uFFFD\uFFFD");
  cut.push_back(kEos);
  cut.push_back(ids.back());
  EXPECT_EQ(tokenizer_.Decode(cut), "\uFFFD\uFFFD</s>\uFFFD");
}

TEST_F(SentencePiece, ListsItsSpecialTokens) {
  std::vector<std::string> texts;
  for (const SpecialToken& token : tokenizer_.special_tokens()) {
    texts.push_back(token.text);
  }
  EXPECT_THAT(texts, testing::ElementsAre("<unk>", "<s>", "</s>"));
}

TEST_F(SentencePiece, UserDefinedSymbolsAreTokensInText) {
  const SentencePieceTokenizer unigram(ReadModel("sentencepiece-unigram"), {}, "tokenizer.model");
  const auto is_token_in_text = [&](const std::string& text) {
    const Ids ids = unigram.Encode("a" + text + "b");
    return std::find_if(ids.begin(), ids.end(),
                        [&](TokenId i) { return unigram.Decode(Ids{i}) == text; }) != ids.end();
  };
  EXPECT_TRUE(is_token_in_text("<|im_end|>"));
  EXPECT_FALSE(is_token_in_text("<|im_start|>"));  // a control symbol
}

TEST_F(SentencePiece, ABrokenModelIsRefused) {
  std::string garbage = model_;
  for (std::size_t i = 0; i < garbage.size(); i += 7) {
    garbage[i] = '\xff';
  }
  for (const std::string& bytes :
       {std::string(), std::string("not a model"), garbage, model_.substr(0, model_.size() / 2)}) {
    try {
      const SentencePieceTokenizer tokenizer(bytes, {}, "DIR/tokenizer.model");
      ADD_FAILURE() << "loaded from " << bytes.size() << " bytes";
    } catch (const StartupError& error) {
      const std::string line = error.what();
      EXPECT_THAT(line, testing::StartsWith("DIR/tokenizer.model: "));
      EXPECT_EQ(line.find('\n'), std::string::npos);
    }
  }
}

TEST(SentencePieceDirectory, IsLoaded) {
  const reference::TempDirectory directory;
  std::ofstream(directory.path() / "tokenizer.model", std::ios::binary)
      << ReadModel("sentencepiece-bpe");
  std::ofstream(directory.path() / "tokenizer_config.json") << R"({"add_bos_token": false})";
  const auto tokenizer = LoadTokenizer(directory.path());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->kind(), "SentencePiece");
  EXPECT_EQ(tokenizer->bos(), std::nullopt);
  std::ofstream(directory.path() / "tokenizer.model", std::ios::binary) << "broken";
  EXPECT_THROW(LoadTokenizer(directory.path()), StartupError);
}

}  // namespace sentencepiece_tokenizer_test
}  // namespace scorecast::coordinator
