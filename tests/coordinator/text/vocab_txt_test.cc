// Tokenizers that are a vocab.txt alone. What a whole one gives is in tokenizer_vectors_test.cc;
// here are the rules of the file and of the options.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/text/tokenizer.h"
#include "coordinator/text/typed_tokens.h"
#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace vocab_txt_test {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class VocabTxt : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.path() / name, std::ios::binary) << text;
  }

  /// The tokens of a text with these options in tokenizer_config.json.
  std::vector<TokenId> Ids(const json& config, const std::string& text) const {
    Write("tokenizer_config.json", config.dump());
    return LoadTokenizer(directory_.path())->Encode(text);
  }

  std::string Failure(const json& config) const {
    Write("tokenizer_config.json", config.dump());
    try {
      LoadTokenizer(directory_.path());
      return "";
    } catch (const proto::StartupError& error) {
      return error.what();
    }
  }

  const reference::TempDirectory directory_;
};

// The ids are those that transformers' BertTokenizer gives for these lines.
TEST_F(VocabTxt, IdsAreNumbersOfLines) {
  Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na \n\u3000\n\nb\r\na\n##c\n \nlast");
  const auto tokenizer = LoadTokenizer(directory_.path());
  EXPECT_EQ(tokenizer->kind(), "WordPiece");
  EXPECT_EQ(tokenizer->vocab_size(), 12);
  EXPECT_THAT(tokenizer->Encode("a b bc last x"), ElementsAre(8, 7, 7, 9, 11, 1));
  EXPECT_THAT(EncodeTyped(*tokenizer, "a", "b")->ids, ElementsAre(2, 8, 3, 7, 3));
  EXPECT_THAT(EncodeTyped(*tokenizer, "a", "b")->types, ElementsAre(0, 0, 0, 1, 1));
  // [MASK] is not in the file, so it is text.
  EXPECT_THAT(tokenizer->Encode("[PAD] [MASK]"), ElementsAre(0, 1, 1, 1));
}

TEST_F(VocabTxt, FollowsTheConfiguration) {
  Write("vocab.txt",
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nresume\nRésumé\nRESUME\nrésumé\n日\n本\n日本");
  const json cased = {{"do_lower_case", false}};
  EXPECT_THAT(Ids(json::object(), "Résumé"), ElementsAre(5));
  EXPECT_THAT(Ids(cased, "Résumé RESUME"), ElementsAre(6, 7));
  EXPECT_THAT(Ids({{"strip_accents", false}}, "Résumé"), ElementsAre(8));
  EXPECT_THAT(Ids({{"do_lower_case", false}, {"strip_accents", true}}, "résumé"), ElementsAre(5));
  EXPECT_THAT(Ids(json::object(), "日本"), ElementsAre(9, 10));
  EXPECT_THAT(Ids({{"tokenize_chinese_chars", false}}, "日本"), ElementsAre(11));
  // As in transformers 5, these do nothing.
  EXPECT_THAT(Ids({{"never_split", {"RESUME"}}, {"do_basic_tokenize", false}}, "RESUME"),
              ElementsAre(5));
}

TEST_F(VocabTxt, TakesTheNamedTokens) {
  Write("vocab.txt", "<s>\n</s>\n<unk>\na\n[E]\n[D]");
  const json config = {{"cls_token", {{"content", "<s>"}, {"lstrip", true}}},
                       {"sep_token", "</s>"},
                       {"pad_token", "<s>"},
                       {"additional_special_tokens", {"[E]", "[F]"}}};
  Write("special_tokens_map.json", R"({"unk_token": "<unk>", "sep_token": "a"})");
  EXPECT_THAT(Ids(config, "a  <s>[E]a[D]"), ElementsAre(3, 0, 4, 3, 2, 2, 2));
  const auto tokenizer = LoadTokenizer(directory_.path());
  EXPECT_THAT(EncodeTyped(*tokenizer, "a")->ids, ElementsAre(0, 3, 1));
  EXPECT_TRUE(tokenizer->IsSpecial(0));
  EXPECT_TRUE(tokenizer->IsSpecial(4));
  EXPECT_FALSE(tokenizer->IsSpecial(3));
}

TEST_F(VocabTxt, TheOtherFilesComeFirst) {
  Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na");
  EXPECT_NE(LoadTokenizer(directory_.path()), nullptr);
  Write("tokenizer.model", "no model");
  EXPECT_THAT(Failure(json::object()), HasSubstr("tokenizer.model"));
  Write("tokenizer.json", "no JSON");
  EXPECT_THAT(Failure(json::object()), HasSubstr("tokenizer.json"));
}

TEST_F(VocabTxt, WhatIsWrongIsNamed) {
  const std::string file = (directory_.path() / "vocab.txt").string();
  const std::string config = (directory_.path() / "tokenizer_config.json").string();
  Write("vocab.txt", "");
  EXPECT_EQ(Failure(json::object()), file + ": has no token \"[UNK]\", the unk_token");
  Write("vocab.txt", "[UNK]\n[CLS]\na\xff");
  EXPECT_EQ(Failure(json::object()), file + ": not UTF-8");
  Write("vocab.txt", "[UNK]\n[CLS]");
  EXPECT_EQ(Failure(json::object()), file + ": has no token \"[SEP]\", the sep_token");
  Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]");
  EXPECT_EQ(Failure({{"tokenizer_class", "DistilBertTokenizerFast"}}), "");
  EXPECT_EQ(Failure({{"tokenizer_class", "PhobertTokenizer"}}),
            config +
                ": tokenizer_class: \"PhobertTokenizer\" with a vocab.txt, but no "
                "tokenizer.json, is not supported");
  EXPECT_EQ(Failure({{"do_lower_case", 1}}), config + ": do_lower_case: not true or false");
  EXPECT_EQ(Failure({{"strip_accents", "no"}}), config + ": strip_accents: not true or false");
}

}  // namespace vocab_txt_test
}  // namespace scorecast::coordinator
