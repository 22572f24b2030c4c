// Added tokens of the files beside a tokenizer, and special tokens that are escaped, against the
// output of the reference libraries: see data/special-tokens/make_special_tokens.py.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/text/continued_text.h"
#include "coordinator/text/tokenizer.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/reference/directories.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace special_tokens_test {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Ids = std::vector<TokenId>;

const std::filesystem::path kData =
    std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" / "data";
constexpr EncodeOptions kEscape = {.special_tokens = SpecialTokensInText::kEscape};

/// A copy of a tokenizer of `data`, with other files beside it.
class Directory {
 public:
  explicit Directory(const std::string& base) {
    for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
      if (std::filesystem::exists(kData / base / name)) {
        std::filesystem::copy(kData / base / name, path() / name);
      }
    }
  }

  void WriteText(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << text;
  }
  void Write(const std::string& name, const json& document) const {
    WriteText(name, document.dump());
  }

  /// Applies `change` to tokenizer.json.
  template <typename Change>
  void ChangeTokenizerJson(const Change& change) const {
    std::ifstream stream(path() / "tokenizer.json");
    json document = json::parse(stream);
    change(document);
    Write("tokenizer.json", document);
  }

  std::unique_ptr<Tokenizer> Load() const { return LoadTokenizer(path()); }

  std::string Failure() const {
    try {
      Load();
      return "";
    } catch (const proto::StartupError& error) {
      return error.what();
    }
  }

 private:
  const std::filesystem::path& path() const { return directory_.path(); }

  reference::TempDirectory directory_;
};

TEST(EscapedTexts, GiveTheReferencesIds) {
  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers;
  const std::vector<json> records = ReadJsonLines(kData / "special-tokens" / "escaped.jsonl");
  ASSERT_GE(records.size(), 240u);
  for (const json& record : records) {
    SCOPED_TRACE(record.dump());
    std::unique_ptr<Tokenizer>& tokenizer = tokenizers[record["tokenizer"]];
    if (!tokenizer) {
      tokenizer = LoadTokenizer(kData / record["tokenizer"].get<std::string>());
    }
    const std::string text = record["text"];
    const Ids ids = tokenizer->Encode(text, kEscape);
    EXPECT_EQ(ids, record["ids"].get<Ids>());
  }
}

/// A text continued at any place has the tokens of the whole text.
void ExpectContinued(const Tokenizer& tokenizer, const std::string& text) {
  for (const EncodeOptions& options : {EncodeOptions{}, kEscape}) {
    Ids whole = tokenizer.Encode(text, options);
    if (tokenizer.bos()) {
      whole.insert(whole.begin(), *tokenizer.bos());
    }
    for (std::size_t at = 0; at <= text.size(); ++at) {
      const std::string_view head = std::string_view(text).substr(0, at);
      const std::string_view tail = std::string_view(text).substr(at);
      if (IsValidUtf8(head)) {
        const ContinuedText continued =
            ContinuedText::Make(tokenizer, head, options.special_tokens).value();
        Ids joint = continued.ids();
        joint.resize(continued.certain_tokens());
        const Ids behind = continued.ContinueTail(tail).value();
        joint.insert(joint.end(), behind.begin(), behind.end());
        EXPECT_EQ(joint, whole) << at;
      }
    }
  }
}

class FilesBesideATokenizer : public testing::TestWithParam<std::string> {};

TEST_P(FilesBesideATokenizer, AddTheReferencesTokens) {
  const std::filesystem::path source = kData / "special-tokens" / GetParam();
  std::ifstream base_file(source / "base.txt");
  std::string base;
  base_file >> base;
  const Directory directory(base);
  for (const auto& file : std::filesystem::directory_iterator(source)) {
    if (file.path().extension() == ".json") {
      std::ifstream stream(file.path());
      directory.Write(file.path().filename(), json::parse(stream));
    }
  }
  const auto tokenizer = directory.Load();
  const std::vector<json> vectors = ReadJsonLines(source / "vectors.jsonl");
  ASSERT_GE(vectors.size(), 200u);
  for (const json& vector : vectors) {
    SCOPED_TRACE(vector.dump());
    const std::string text = vector["text"];
    EXPECT_EQ(tokenizer->Encode(text), vector["ids"].get<Ids>());
    if (!vector["escaped"].is_null()) {
      EXPECT_EQ(tokenizer->Encode(text, kEscape), vector["escaped"].get<Ids>());
    }
    ExpectContinued(*tokenizer, text);
  }
}

std::string NameOf(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, FilesBesideATokenizer,
                         testing::Values("decoder", "added-tokens-file", "sentencepiece"), NameOf);

json Token(const std::string& content, bool special = false) {
  return {{"content", content}, {"special", special}, {"normalized", false}};
}

TEST(AddedTokenFiles, FlagsAndIdsOfTokenizerJsonCount) {
  const Directory directory("digits");
  json im_end = Token("<|im_end|>");
  im_end["lstrip"] = true;
  directory.Write("tokenizer_config.json",
                  {{"added_tokens_decoder", {{"2", im_end}, {"9000", Token("a")}}}});
  const auto tokenizer = directory.Load();
  const Ids space = tokenizer->Encode(" ");
  EXPECT_THAT(tokenizer->Encode(" <|im_end|>"), ElementsAre(space.front(), 2));
  // A token of the vocabulary keeps its id.
  EXPECT_EQ(tokenizer->SingleToken("a"), LoadTokenizer(kData / "digits")->SingleToken("a"));
  EXPECT_EQ(tokenizer->vocab_size(), LoadTokenizer(kData / "digits")->vocab_size());
}

TEST(AddedTokenFiles, MayHaveSettingsNamedLikeTokens) {
  const Directory directory("digits");
  directory.Write("tokenizer_config.json", {{"num_image_token", 256},
                                            {"stop_token", json::array({"<a>"})},
                                            {"image_token", "<|im_end|>"},
                                            {"bos_token", nullptr},
                                            {"model_max_length", 1e30}});
  EXPECT_NO_THROW(directory.Load());
}

TEST(AddedTokenFiles, AreNamedIfTheyAreBroken) {
  const std::vector<std::pair<json, std::string>> faults = {
      {{{"added_tokens_decoder", json::array()}}, "added_tokens_decoder: not an object"},
      {{{"added_tokens_decoder", {{"x", Token("a")}}}}, "the name is not an id"},
      {{{"added_tokens_decoder", {{"-1", Token("a")}}}}, "the name is not an id"},
      {{{"added_tokens_decoder", {{"9999999999", Token("a")}}}}, "the name is not an id"},
      {{{"added_tokens_decoder", {{"9", 3}}}}, "added_tokens_decoder.9: not an object"},
      {{{"added_tokens_decoder", {{"2", Token("<x>")}}}},
       "the id of the added token \"<x>\", 2, already belongs to \"<|im_end|>\""},
      {{{"additional_special_tokens", 3}}, "additional_special_tokens: not a list"},
      {{{"mask_token", 3}}, "mask_token: not a string"},
      {{{"chat_template", 3}}, "chat_template: not a string"},
      {{{"chat_template", {{{"name", "a"}}}}}, "\"template\" is missing"},
      {{{"add_prefix_space", 1}}, "add_prefix_space: not true or false"},
  };
  for (const auto& [config, what] : faults) {
    SCOPED_TRACE(config.dump());
    const Directory directory("digits");
    directory.Write("tokenizer_config.json", config);
    EXPECT_THAT(directory.Failure(), HasSubstr("tokenizer_config.json: "));
    EXPECT_THAT(directory.Failure(), HasSubstr(what));
  }
  for (const std::string name :
       {"added_tokens.json", "special_tokens_map.json", "chat_template.json"}) {
    const Directory directory("digits");
    directory.WriteText(name, "[");
    EXPECT_THAT(directory.Failure(), HasSubstr(name + ": not JSON"));
  }
  const Directory sentencepiece("sentencepiece-bpe");
  sentencepiece.Write("added_tokens.json", json{{"<x>", 700}, {"<y>", 700}});
  EXPECT_THAT(sentencepiece.Failure(), HasSubstr("added_tokens.json: the id of the added token"));
}

/// <think> is an added token of this tokenizer that is not special.
class TemplateTokens : public testing::Test {
 protected:
  void ExpectEscaped() const {
    const auto tokenizer = directory_.Load();
    const TokenId think = *tokenizer->SingleToken("<think>");
    EXPECT_THAT(tokenizer->Encode("a<think>b", kEscape), Not(Contains(think)));
    EXPECT_THAT(tokenizer->Encode("a<think>b"), Contains(think));
  }

  const Directory directory_{"prefix-space"};
};

TEST_F(TemplateTokens, AreEscaped) {
  const auto tokenizer = directory_.Load();
  EXPECT_THAT(tokenizer->Encode("a<think>b", kEscape), Contains(tokenizer->SingleToken("<think>")));
  directory_.Write("tokenizer_config.json", {{"chat_template", "{{ '<think>' }}"}});
  ExpectEscaped();
}

TEST_F(TemplateTokens, AreThoseOfAnyOfSeveralTemplates) {
  const json list = {{{"name", "default"}, {"template", "x"}},
                     {{"name", "tools"}, {"template", "<think>"}}};
  directory_.Write("tokenizer_config.json", {{"chat_template", list}});
  ExpectEscaped();
}

TEST_F(TemplateTokens, AreFoundInAJinjaFile) {
  directory_.WriteText("chat_template.jinja", "{{ '<think>' }}");
  ExpectEscaped();
}

TEST_F(TemplateTokens, AreFoundInAJsonFile) {
  directory_.Write("chat_template.json", {{"chat_template", "{{ '<think>' }}"}});
  ExpectEscaped();
}

TEST_F(TemplateTokens, AreFoundInAnAdditionalTemplate) {
  directory_.WriteText("additional_chat_templates/rag.jinja", "<think>");
  ExpectEscaped();
}

TEST_F(TemplateTokens, AreThoseOfThePostProcessor) {
  directory_.ChangeTokenizerJson([](json& document) {
    const json id = document["added_tokens"][3]["id"];
    ASSERT_EQ(document["added_tokens"][3]["content"], "<think>");
    document["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", "t"}}}}, {{"Sequence", {{"id", "A"}}}}}},
        {"special_tokens", {{"t", {{"id", "t"}, {"ids", {id}}}}}}};
  });
  ExpectEscaped();
}

TEST_F(TemplateTokens, NamedTokensAreSpecial) {
  for (const json& config : {json{{"pad_token", "<think>"}},
                             json{{"extra_special_tokens", {{"think_token", "<think>"}}}},
                             json{{"model_specific_special_tokens", {{"think", "<think>"}}}},
                             json{{"additional_special_tokens", {Token("<think>")}}}}) {
    SCOPED_TRACE(config.dump());
    directory_.Write("tokenizer_config.json", config);
    ExpectEscaped();
  }
}

// Templates contain line feeds, which are tokens of some vocabularies.
TEST_F(TemplateTokens, WhiteSpaceIsNotEscaped) {
  directory_.ChangeTokenizerJson(
      [](json& document) { document["added_tokens"][3]["content"] = "\n\n"; });
  directory_.Write("tokenizer_config.json", {{"chat_template", "a\n\nb"}});
  const auto tokenizer = directory_.Load();
  EXPECT_EQ(tokenizer->Encode("x\n\ny", kEscape), tokenizer->Encode("x\n\ny"));
}

// A model may make a special token from plain text (here by `ignore_merges`). With escaping it does
// not give that token; this differs from the reference.
TEST(EscapedTexts, NeverGiveASpecialToken) {
  const Directory directory("ignore-merges");
  directory.ChangeTokenizerJson([](json& document) {
    document["model"]["vocab"]["harbours"] = 9000;
    document["added_tokens"].push_back({{"id", 9000}, {"content", "harbours"}, {"special", true}});
  });
  const auto tokenizer = directory.Load();
  EXPECT_EQ(tokenizer->SingleToken("harbours"), 9000);
  EXPECT_EQ(tokenizer->Encode("harbours", kEscape), [&] {
    Ids ids = tokenizer->Encode("h");
    const Ids rest = tokenizer->Encode("arbours");
    ids.insert(ids.end(), rest.begin(), rest.end());
    return ids;
  }());
}

// The vocabulary of a Unigram model has its special tokens as pieces.
TEST(EscapedTexts, NeverGiveASpecialTokenOfAUnigramModel) {
  for (const std::string name : {"unigram-first", "unigram-never"}) {
    SCOPED_TRACE(name);
    const auto tokenizer = LoadTokenizer(kData / name);
    const std::string text = "a</s>b <s></s>";
    EXPECT_THAT(tokenizer->Encode(text), Contains(2));
    const Ids ids = tokenizer->Encode(text, kEscape);
    EXPECT_THAT(ids, Not(Contains(1)));
    EXPECT_THAT(ids, Not(Contains(2)));
    if (name == "unigram-first") {
      EXPECT_EQ(tokenizer->Decode(ids), text);
    }
    // Text that the vocabulary lacks is unknown in any case.
    EXPECT_EQ(tokenizer->Encode("a\x01z", kEscape), tokenizer->Encode("a\x01z"));
  }
  const auto unknown = LoadTokenizer(kData / "unigram-never");
  EXPECT_THAT(unknown->Encode("\u9f98", kEscape), Contains(0));
}

class SentencePieceSpecialTokens : public testing::Test {
 protected:
  SentencePieceSpecialTokens() {
    directory_.Write(
        "tokenizer_config.json",
        {{"eos_token", "</s>"},
         {"add_eos_token", true},
         {"bos_token", "<|user|>"},
         {"added_tokens_decoder", {{"2", Token("</s>", true)}, {"700", Token("<|user|>")}}}});
  }

  const Directory directory_{"sentencepiece-bpe"};
};

TEST_F(SentencePieceSpecialTokens, AreDecodedAndListed) {
  const auto tokenizer = directory_.Load();
  EXPECT_EQ(tokenizer->vocab_size(), 701);
  EXPECT_EQ(tokenizer->bos(), 700);
  EXPECT_THAT(tokenizer->added_suffix(), ElementsAre(2));
  const std::string text = "harbour</s><|user|> harbour<|user|>\n</s>";
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
  EXPECT_EQ(tokenizer->Decode(Ids{700, 5000, -1, 2, 700}), "<|user|></s><|user|>");
  std::vector<std::string> texts;
  for (const SpecialToken& token : tokenizer->special_tokens()) {
    texts.push_back(token.text);
  }
  EXPECT_THAT(texts, ElementsAre("<unk>", "<s>", "</s>", "<|user|>"));
}

TEST_F(SentencePieceSpecialTokens, AreEscaped) {
  const auto tokenizer = directory_.Load();
  const std::string text = "harbour</s><|user|> harbour";
  const Ids ids = tokenizer->Encode(text, kEscape);
  EXPECT_THAT(ids, Not(Contains(2)));
  EXPECT_THAT(ids, Not(Contains(700)));  // It is named as BOS.
  EXPECT_EQ(ids, LoadTokenizer(kData / "sentencepiece-bpe")->Encode(text));
}

TEST_F(SentencePieceSpecialTokens, AUserDefinedSymbolOfATemplateIsEscaped) {
  const Directory directory("sentencepiece-unigram");
  const auto plain = directory.Load();
  const TokenId im_end = plain->Encode("a<|im_end|>").back();
  EXPECT_EQ(plain->Decode(Ids{im_end}), "<|im_end|>");
  EXPECT_THAT(plain->Encode("a<|im_end|>b", kEscape), Contains(im_end));

  directory.WriteText("chat_template.jinja", "<|im_end|>");
  const auto tokenizer = directory.Load();
  EXPECT_THAT(tokenizer->Encode("a<|im_end|>b"), Contains(im_end));
  Ids expected = plain->Encode("a");
  for (const std::string part : {"<", "|im_end|>", "b"}) {
    const Ids ids = plain->Encode(part, {.at_start = false});
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  EXPECT_EQ(tokenizer->Encode("a<|im_end|>b", kEscape), expected);
  EXPECT_THAT(expected, Not(Contains(im_end)));
}

TEST(AddPrefixSpace, ReplacesWhatTheTokenizerSays) {
  const Directory byte_level("prefix-space");
  const Ids spaced = byte_level.Load()->Encode("harbour");
  byte_level.Write("tokenizer_config.json", {{"add_prefix_space", false}});
  EXPECT_NE(byte_level.Load()->Encode("harbour"), spaced);
  EXPECT_EQ(byte_level.Load()->Encode(" harbour"), spaced);
  EXPECT_EQ(byte_level.Load()->Decode(byte_level.Load()->Encode("harbour")), "harbour");

  const Directory without("nfc");
  const Ids plain = without.Load()->Encode(" harbour");
  without.Write("tokenizer_config.json", {{"add_prefix_space", true}});
  EXPECT_EQ(without.Load()->Encode("harbour"), plain);

  // Prepend, and Metaspace with two schemes.
  for (const std::string name : {"llama2", "mistral", "metaspace-always"}) {
    SCOPED_TRACE(name);
    const Directory directory(name);
    const Ids later = directory.Load()->Encode("harbour", {.at_start = false});
    EXPECT_NE(directory.Load()->Encode("harbour"), later);
    directory.Write("tokenizer_config.json", {{"add_prefix_space", false}});
    EXPECT_EQ(directory.Load()->Encode("harbour"), later);
    const std::string text = " harbour</s> harbour</s>harbour";
    EXPECT_EQ(directory.Load()->Decode(directory.Load()->Encode(text)), text);
  }
  const Directory never("unigram-never");
  const Ids first = never.Load()->Encode(" harbour</s>harbour");
  never.Write("tokenizer_config.json", {{"add_prefix_space", true}});
  EXPECT_EQ(never.Load()->Encode("harbour</s>harbour"), first);

  const Directory sentencepiece("sentencepiece-bpe");
  const Ids dummy = sentencepiece.Load()->Encode("harbour");
  sentencepiece.Write("tokenizer_config.json", {{"add_prefix_space", false}});
  EXPECT_NE(sentencepiece.Load()->Encode("harbour"), dummy);
  EXPECT_EQ(sentencepiece.Load()->Encode(" harbour"), dummy);
}

}  // namespace special_tokens_test
}  // namespace scorecast::coordinator
