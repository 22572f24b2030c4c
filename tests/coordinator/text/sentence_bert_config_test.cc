#include "coordinator/text/files/sentence_bert_config.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/text/files/transformer_module.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace sentence_bert_config_test {

using nlohmann::json;

class SentenceBertFile : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.path() / name, std::ios::binary) << text;
  }

  std::string Failure() const {
    try {
      ReadTokenLimit(directory_.path(), 512);
      return "";
    } catch (const proto::StartupError& error) {
      return error.what();
    }
  }

  const reference::TempDirectory directory_;
};

TEST_F(SentenceBertFile, SaysTheLimitOfTokens) {
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 512);
  Write("tokenizer_config.json", R"({"model_max_length": 256})");
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 256);
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 128), 128);
  Write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 512);
  Write("tokenizer_config.json", R"({"model_max_length": 1e30})");
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 512);
  Write("tokenizer_config.json", R"({"max_len": 200})");
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 200);
  Write("tokenizer_config.json", R"({"max_len": 200, "model_max_length": 100})");
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 100);
  // sentence-transformers' file counts more, even if its limit is larger.
  Write("tokenizer_config.json", R"({"model_max_length": 128})");
  Write("sentence_roberta_config.json", R"({"max_seq_length": 300})");
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 300);
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 256), 256);
  Write("sentence_bert_config.json", R"({"max_seq_length": null, "do_lower_case": false})");
  EXPECT_EQ(ReadTokenLimit(directory_.path(), 512), 128);
}

TEST_F(SentenceBertFile, WhatIsWrongIsNamed) {
  const std::string file = (directory_.path() / "sentence_bert_config.json").string();
  Write("sentence_bert_config.json", R"({"max_seq_length": 0})");
  EXPECT_EQ(Failure(), file + ": max_seq_length: must be at least 1");
  Write("sentence_bert_config.json", "[]");
  EXPECT_EQ(Failure(), file + ": not a JSON object");
  std::filesystem::remove(file);
  Write("tokenizer_config.json", R"({"model_max_length": -1})");
  EXPECT_EQ(Failure(), (directory_.path() / "tokenizer_config.json").string() +
                           ": model_max_length: must be at least 1");
}

TEST(LowercaseFirst, IsPutBeforeTheNormalizer) {
  const json lowercase = {{"type", "Lowercase"}};
  const json nfc = {{"type", "NFC"}};
  const auto sequence = [](const json& steps) {
    return json{{"type", "Sequence"}, {"normalizers", steps}};
  };
  const auto changed = [](const json& normalizer) {
    json document = {{"normalizer", normalizer}};
    PutLowercaseFirst(document);
    return document["normalizer"];
  };
  EXPECT_EQ(changed(nullptr), sequence(json::array({lowercase})));
  EXPECT_EQ(changed(nfc), sequence({lowercase, nfc}));
  EXPECT_EQ(changed(sequence({nfc, nfc})), sequence({lowercase, nfc, nfc}));
  EXPECT_EQ(changed(lowercase), lowercase);
  EXPECT_EQ(changed(sequence({nfc, lowercase})), sequence({nfc, lowercase}));
  json broken = 7;
  PutLowercaseFirst(broken);
  EXPECT_EQ(broken, 7);
}

TEST_F(SentenceBertFile, MakesTextsLowerCase) {
  Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nA");
  Write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(LoadTokenizer(directory_.path())->SingleToken("A"), 4);
  Write("sentence_bert_config.json", R"({"do_lower_case": true})");
  EXPECT_EQ(LoadTokenizer(directory_.path())->SingleToken("A"), 3);
  Write("tokenizer.model", "");
  std::string message;
  try {
    LoadTokenizer(directory_.path());
  } catch (const proto::StartupError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, testing::HasSubstr("do_lower_case: not supported with a tokenizer.model"));
}

}  // namespace sentence_bert_config_test
}  // namespace scorecast::coordinator
