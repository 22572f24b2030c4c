#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "coordinator/text/tokenizer.h"
#include "proto/base/error.h"
#include "tests/reference/directories.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace tokenizer_load_test {

using nlohmann::json;
using proto::StartupError;
using testing::HasSubstr;
using testing::StartsWith;
using Ids = std::vector<TokenId>;

const std::filesystem::path kData =
    std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" / "data";
const std::string kWordPiece = "encoders/wordpiece-uncased";

std::string ReadFile(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class TokenizerLoad : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.path() / name, std::ios::binary) << text;
  }

  /// The error message of loading; empty if loading succeeds.
  std::string Failure() const {
    try {
      LoadTokenizer(directory_.path());
      return "";
    } catch (const StartupError& error) {
      return error.what();
    }
  }

  void ExpectFailure(const std::string& file, const std::string& what) const {
    const std::string line = Failure();
    EXPECT_THAT(line, StartsWith((directory_.path() / file).string() + ": "));
    EXPECT_THAT(line, HasSubstr(what));
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }

  const reference::TempDirectory directory_;
  const json nfc_ = json::parse(ReadFile(kData / "nfc" / "tokenizer.json"));
};

TEST_F(TokenizerLoad, ADirectoryWithoutATokenizerHasNone) {
  EXPECT_EQ(LoadTokenizer(directory_.path()), nullptr);
}

TEST_F(TokenizerLoad, ABrokenFileIsNamed) {
  const std::string good = nfc_.dump();
  for (const std::string& text : {std::string(), std::string("{"), good.substr(0, good.size() / 2),
                                  std::string("{\"a\":\xff}"), good + "x",
                                  std::string(100'000, '['), std::string("{\"a\":1e999}")}) {
    Write("tokenizer.json", text);
    ExpectFailure("tokenizer.json", "not JSON");
  }
  for (const std::string text : {"[]", "null", "\"model\"", "7"}) {
    Write("tokenizer.json", text);
    ExpectFailure("tokenizer.json", "not an object");
  }
  Write("tokenizer.json", "{}");
  ExpectFailure("tokenizer.json", "\"model\" is missing");
}

TEST_F(TokenizerLoad, AFileThatIsNestedTooDeepIsNamed) {
  Write("tokenizer.json", nfc_.dump());
  for (const std::size_t depth : {1000, 1'000'000}) {  // One level is the object.
    Write("tokenizer_config.json",
          "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}");
    ExpectFailure("tokenizer_config.json", "nested deeper than 1000 levels");
  }
  Write("tokenizer_config.json", "{\"a\":" + std::string(999, '[') + std::string(999, ']') + "}");
  EXPECT_EQ(Failure(), "");
}

// A FIFO is refused, and its opening does not wait for a writer.
TEST_F(TokenizerLoad, AFileThatIsNotARegularOneIsNamed) {
  Write("tokenizer.json", nfc_.dump());
  EXPECT_EQ(Failure(), "");
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
        "chat_template.jinja", "chat_template.json", "additional_chat_templates/rag.jinja"}) {
    const std::filesystem::path path = directory_.path() / name;
    std::filesystem::create_directory(directory_.path() / "additional_chat_templates");
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    ExpectFailure(name, "not a regular file");
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    ExpectFailure(name, "not a regular file");
    std::filesystem::remove(path);
    std::filesystem::create_symlink(directory_.path() / "absent", path);
    ExpectFailure(name, "it is a link to a file that does not exist");
    std::filesystem::remove(path);
  }
  Write("blob", nfc_.dump());
  std::filesystem::create_symlink("blob", directory_.path() / "tokenizer.json");
  EXPECT_NE(LoadTokenizer(directory_.path()), nullptr) << "by a link to a regular file";
}

/// A change that makes a good tokenizer.json bad, and what the error message must contain.
struct Fault {
  std::string pointer;
  json value;
  std::string what;
};

TEST_F(TokenizerLoad, WhatIsBrokenOrNotSupportedIsNamed) {
  const json byte_level = {{"type", "ByteLevel"}};
  const auto split = [&](const json& pattern, const std::string& behavior) {
    return json{{"type", "Sequence"},
                {"pretokenizers",
                 {{{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}}, byte_level}}};
  };
  const auto added = [](const json& id, const json& content) {
    return json{{"id", id}, {"content", content}, {"special", true}};
  };
  const json a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json x = {{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}};
  const auto around = [&](const json& single, const json& ids) {
    return json{{"type", "TemplateProcessing"},
                {"single", single},
                {"special_tokens", {{"x", {{"id", "x"}, {"ids", ids}}}}}};
  };
  const auto pair = [&](const json& parts) {
    json processor = around(json::array({a}), {1});
    processor["pair"] = parts;
    return processor;
  };
  const std::vector<Fault> faults = {
      {"/model", 3, "model: not an object"},
      {"/model/type", "Unigram", "model.type: Unigram after a ByteLevel pre-tokenizer"},
      {"/model/type", "WordLevel", R"(type "WordLevel" is not supported, only BPE, Unigram)"},
      {"/model/type", "WordPiece", "model.type: WordPiece after a ByteLevel pre-tokenizer"},
      {"/model/type", 3, "model.type: not a string"},
      {"/model/byte_fallback", "no", "model.byte_fallback: not true or false"},
      {"/model/dropout", 0.1, "model.dropout: not supported"},
      {"/model/continuing_subword_prefix", "##", "model.continuing_subword_prefix"},
      {"/model/end_of_word_suffix", 3, "model.end_of_word_suffix: not a string"},
      {"/model/ignore_merges", 1, "model.ignore_merges"},
      {"/model/vocab", nullptr, "\"vocab\" is missing"},
      {"/model/vocab", json::array(), "model.vocab: not an object"},
      {"/model/vocab/a", -1, "the id of \"a\""},
      {"/model/vocab/a", 4'194'304, "the id of \"a\""},
      {"/model/vocab/a", 18'446'744'073'709'551'615u, "the id of \"a\""},
      {"/model/vocab/a", 1.5, "the id of \"a\""},
      {"/model/vocab/a", "1", "the id of \"a\""},
      {"/model/vocab/a", 5, "two tokens have the id 5"},
      {"/model/merges", nullptr, "\"merges\" is missing"},
      {"/model/merges", json::object(), "model.merges: not a list"},
      {"/model/merges/2", {"missing", "a"}, "merge 2: \"missing\" is not in the vocabulary"},
      {"/model/merges/2", {"a", "\n"}, R"("\x0a" is not in the vocabulary)"},
      {"/model/merges/2", {"!", "~"}, "\"!~\" is not in the vocabulary"},
      {"/model/merges/2", {"a"}, "merge 2: neither"},
      {"/model/merges/2", {"a", 3}, "merge 2: neither"},
      {"/model/merges/2", "a b c", "merge 2: neither"},
      {"/model/merges/2", "ab", "merge 2: neither"},
      {"/model/merges/2", 7, "merge 2: neither"},
      {"/normalizer", {{"type", "Nmt"}}, R"(normalizer.type: "Nmt" is not supported)"},
      {"/normalizer",
       {{"type", "Sequence"}, {"normalizers", {{{"type", "ByteLevel"}}}}},
       R"(normalizer.normalizers[0].type: "ByteLevel")"},
      {"/normalizer",
       {{"type", "Sequence"}, {"normalizers", 3}},
       "normalizer.normalizers: not a list"},
      {"/pre_tokenizer", {{"type", "UnicodeScripts"}}, R"(pre_tokenizer.type: "Unicode)"},
      {"/pre_tokenizer",
       {{"type", "Sequence"}, {"pretokenizers", {byte_level, {{"type", "Digits"}}}}},
       "pre_tokenizer.pretokenizers[1]: a step after ByteLevel"},
      {"/pre_tokenizer", split({{"Regex", "(a"}}, "Isolated"),
       "pre_tokenizer.pretokenizers[0].pattern.Regex"},
      {"/pre_tokenizer", split({{"Regex", "\\w+"}}, "Isolated"), R"("\w" is not supported)"},
      {"/pre_tokenizer", split({{"String", ""}}, "Isolated"), "pattern.String: must not be empty"},
      {"/pre_tokenizer", split({{"Glob", "*"}}, "Isolated"), "\"Regex\" is missing"},
      {"/pre_tokenizer", split({{"Regex", "a"}}, "Shaken"), R"("Shaken" is not supported)"},
      {"/decoder", 7, "decoder: not an object"},
      {"/decoder", {{"type", "BPEDecoder"}}, R"(decoder.type: "BPEDecoder")"},
      {"/post_processor", {{"type", "Pairs"}}, R"(post_processor.type: "Pairs")"},
      {"/post_processor",
       {{"type", "Sequence"}, {"processors", {{{"type", "X"}}}}},
       R"(post_processor.processors[0].type: "X")"},
      {"/post_processor", around({x, a}, {100'000}), "100000 is not in 0 … "},
      {"/post_processor", around({x, a}, {-1}), "-1 is not in 0 … "},
      {"/post_processor", around({x, a}, 7), "not a list"},
      {"/post_processor", around(json::array({x}), {1}), "does not contain the sequence"},
      {"/post_processor", around({a, x, a}, {1}), "only one sequence"},
      {"/post_processor", pair({a, x}), "post_processor.pair: does not contain the sequence \"B\""},
      {"/post_processor", pair({a, a}), "pair[1]: the sequences \"A\" and \"B\" are supported"},
      {"/post_processor", pair({a, {{"Sequence", {{"id", "C"}, {"type_id", 0}}}}}), "\"B\" are"},
      {"/post_processor", pair({a, {{"Sequence", {{"id", "B"}, {"type_id", 256}}}}}), "256 is not"},
      {"/post_processor",
       {{"type", "Sequence"}, {"processors", {around({x, a, x}, {1}), around({x, a}, {1})}}},
       "processors[1]: a template behind another processor is not supported"},
      {"/post_processor", around({{{"SpecialToken", {{"id", "y"}}}}, a}, {1}), "\"y\" is missing"},
      {"/added_tokens", 3, "added_tokens: not a list"},
      {"/added_tokens/0", added(-1, "x"), "added_tokens[0].id: -1 is not in"},
      {"/added_tokens/0", added(4'194'304, "x"), "added_tokens[0].id: 4194304 is not in"},
      {"/added_tokens/0", added(18'446'744'073'709'551'615u, "x"), "added_tokens[0].id"},
      {"/added_tokens/0", added(1.0, "x"), "added_tokens[0].id: not a whole number"},
      {"/added_tokens/0", added(600, 7), "added_tokens[0].content: not a string"},
      {"/added_tokens/0", added(600, "a"), "\"a\" already has the id"},
      {"/added_tokens/1", added(nfc_["added_tokens"][0]["id"], "<x>"),
       "already belongs to \"<|endoftext|>\""},
      {"/added_tokens/0/lstrip", "x", "added_tokens[0].lstrip"},
      {"/post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", "a\nb"}}}}, a}},
        {"special_tokens", {{"a\nb", 3}}}},
       "special_tokens.a\\x0ab: not an object"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.pointer + " " + fault.value.dump());
    json document = nfc_;
    document[json::json_pointer(fault.pointer)] = fault.value;
    Write("tokenizer.json", document.dump());
    ExpectFailure("tokenizer.json", fault.what);
  }
}

// Expected are texts of Tokenizer.from_file (tokenizers 0.23.3).
TEST_F(TokenizerLoad, WithoutADecoderSpacesStandBetweenTokens) {
  const auto expect = [&](const std::string& name, const Ids& ids, const std::string& text) {
    json document = json::parse(ReadFile(kData / name / "tokenizer.json"));
    for (const bool is_null : {true, false}) {
      document.erase("decoder");
      if (is_null) {
        document["decoder"] = nullptr;
      }
      Write("tokenizer.json", document.dump());
      const std::unique_ptr<Tokenizer> tokenizer = LoadTokenizer(directory_.path());
      EXPECT_EQ(tokenizer->Encode("Hello, wörld again!"), ids) << name;
      EXPECT_EQ(tokenizer->Decode(ids), text) << name;
      EXPECT_EQ(tokenizer->Decode({}), "") << name;
    }
  };
  expect(kWordPiece, {498, 602, 75, 16, 613, 69, 53, 46, 59, 47, 408, 6},
         "he ##ll ##o , wor ##l ##d a ##g ##a ##in !");
  expect("nfc", {39, 68, 75, 289, 11, 263, 305, 81, 75, 67, 381, 70, 64, 257, 0},
         "H e l lo , Ġw Ã¶ r l d Ġa g a in !");
  expect("llama2", {466, 292, 298, 349, 261, 336, 315, 303, 298, 291, 420, 294, 288, 332, 259},
         "▁H e l lo , ▁w ö r l d ▁a g a in !");
}

TEST_F(TokenizerLoad, WhatIsBrokenInOtherKindsIsNamed) {
  const json strip = {{"type", "Strip"}, {"content", " "}, {"start", 2}, {"stop", 0}};
  const json strip_end = {{"type", "Strip"}, {"content", " "}, {"start", 0}, {"stop", 1}};
  const json fuse = {{"type", "Fuse"}};
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}};
  const json metaspace = {{"type", "Metaspace"}, {"replacement", "▁"}};
  const auto with = [](json step, const std::string& name, const json& value) {
    step[name] = value;
    return step;
  };
  const auto decoders = [](const std::vector<json>& steps) {
    return json{{"type", "Sequence"}, {"decoders", steps}};
  };
  json nested = fuse;
  for (int i = 0; i < 100; ++i) {
    nested = decoders({nested});
  }
  const std::vector<std::pair<std::string, Fault>> faults = {
      {"unigram-first", {"/model/vocab", json::object(), "model.vocab: not a list"}},
      {"unigram-first", {"/model/vocab", json::array(), "model.vocab: empty"}},
      {"unigram-first", {"/model/vocab/3", "a", "model.vocab[3]: not a pair [text, score]"}},
      {"unigram-first", {"/model/vocab/3", {"a", "b"}, "model.vocab[3]: not a pair"}},
      {"unigram-first", {"/model/unk_id", nullptr, "\"unk_id\" is missing"}},
      {"unigram-first", {"/model/unk_id", 100'000, "model.unk_id: 100000 is not in"}},
      {"unigram-precompiled",
       {"/normalizer/normalizers/0/precompiled_charsmap", "A", "precompiled_charsmap: not Base64"}},
      {"unigram-precompiled",
       {"/normalizer/normalizers/0/precompiled_charsmap", "", "precompiled_charsmap: malformed"}},
      {"llama2", {"/model/unk_token", "<none>", R"("<none>" is not in the vocabulary)"}},
      {"llama2", {"/pre_tokenizer", with(metaspace, "replacement", "ab"), "not one character"}},
      {"llama2", {"/pre_tokenizer", with(metaspace, "prepend_scheme", "last"), R"("last" is not)"}},
      {"llama2",
       {"/pre_tokenizer",
        with(with(metaspace, "prepend_scheme", "first"), "add_prefix_space", false),
        "\"first\" contradicts add_prefix_space"}},
      {"llama2", {"/decoder", with(metaspace, "replacement", ""), "not one character"}},
      {"llama2", {"/decoder", decoders({fuse, replace}), "only Strip is supported"}},
      {"llama2", {"/decoder", decoders({fuse, strip}), "only one space may be removed"}},
      {"llama2", {"/decoder", strip_end, "stop: 1 is not in 0 … 0"}},
      {"llama2", {"/decoder", {{"type", "CTC"}}, R"(decoder.type: "CTC" is not supported)"}},
      {"llama2", {"/decoder", nested, "more than 8 sequences inside each other"}},
      {kWordPiece, {"/model/vocab", json::array(), "model.vocab: not an object"}},
      {kWordPiece, {"/model/vocab/a", -1, "the id of \"a\""}},
      {kWordPiece, {"/model/unk_token", "<none>", R"(unk_token: "<none>" is not in the vocab)"}},
      {kWordPiece, {"/model/continuing_subword_prefix", nullptr, "prefix\" is missing"}},
      {kWordPiece, {"/model/max_input_chars_per_word", -1, "per_word: -1 is not in"}},
      {kWordPiece, {"/normalizer/lowercase", 1, "normalizer.lowercase: not true or false"}},
      {kWordPiece, {"/normalizer/strip_accents", 1, "strip_accents: not true or false"}},
      {kWordPiece, {"/decoder/prefix", nullptr, "\"prefix\" is missing"}},
      {"words", {"/post_processor/cls", {"<s>"}, "post_processor.cls: not a pair [text, id]"}},
      {"words", {"/post_processor/sep", {"<s>", 99'999}, "99999 is not in 0 … "}},
  };
  for (const auto& [name, fault] : faults) {
    SCOPED_TRACE(fault.pointer + " " + fault.value.dump());
    json document = json::parse(ReadFile(kData / name / "tokenizer.json"));
    document[json::json_pointer(fault.pointer)] = fault.value;
    Write("tokenizer.json", document.dump());
    ExpectFailure("tokenizer.json", fault.what);
  }
}

TEST_F(TokenizerLoad, KindsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"nfc", "byte-level BPE"},
      {"llama2", "BPE with byte fallback"},
      {"words", "BPE"},
      {"unigram-never", "Unigram"},
      {"unigram-first", "Unigram with byte fallback"},
      {kWordPiece, "WordPiece"},
      {"sentencepiece-bpe", "SentencePiece"}};
  for (const auto& [name, kind] : kinds) {
    EXPECT_EQ(LoadTokenizer(kData / name)->kind(), kind);
  }
}

TEST_F(TokenizerLoad, OldModelsHaveNoType) {
  for (const std::string& name : {std::string("nfc"), kWordPiece}) {
    json document = json::parse(ReadFile(kData / name / "tokenizer.json"));
    document["model"].erase("type");
    Write("tokenizer.json", document.dump());
    EXPECT_EQ(LoadTokenizer(directory_.path())->kind(), LoadTokenizer(kData / name)->kind());
  }
}

TEST_F(TokenizerLoad, ALongWordIsUnknown) {
  json document = json::parse(ReadFile(kData / kWordPiece / "tokenizer.json"));
  document["model"]["max_input_chars_per_word"] = 3;
  Write("tokenizer.json", document.dump());
  const auto tokenizer = LoadTokenizer(directory_.path());
  const TokenId unknown = *tokenizer->SingleToken("[UNK]");
  EXPECT_THAT(tokenizer->Encode("the"), testing::Not(testing::Contains(unknown)));
  EXPECT_EQ(tokenizer->Encode("thee"), Ids{unknown});
  // Characters are counted after normalization, and not bytes.
  EXPECT_EQ(tokenizer->Encode("t\u0301h\u0301e\u0301"), tokenizer->Encode("the"));
}

TEST_F(TokenizerLoad, ALaterSectionGetsNoDummySpace) {
  const EncodeOptions later = {.at_start = false};
  for (const std::string name : {"llama2-flags", "mistral", "metaspace-always", "unigram-first"}) {
    SCOPED_TRACE(name);
    const auto tokenizer = LoadTokenizer(kData / name);
    EXPECT_EQ(tokenizer->Encode("", later), Ids{});
    EXPECT_NE(tokenizer->Encode("harbour", later), tokenizer->Encode("harbour"));
    EXPECT_EQ(tokenizer->Encode(" harbour", later), tokenizer->Encode("harbour"));
    // A text that follows an added token has the same tokens in both.
    EXPECT_EQ(tokenizer->Encode("</s>harbour", later), tokenizer->Encode("</s>harbour"));
  }
  const auto gemma = LoadTokenizer(kData / "gemma");
  EXPECT_EQ(gemma->Encode("harbour", later), gemma->Encode("harbour"));
}

TEST_F(TokenizerLoad, AnUnknownTokenMattersOnlyIfItCanOccur) {
  json document = nfc_;
  document["model"]["unk_token"] = "<|endoftext|>";
  Write("tokenizer.json", document.dump());
  EXPECT_EQ(Failure(), "");

  document["model"]["unk_token"] = "<none>";
  Write("tokenizer.json", document.dump());
  EXPECT_EQ(Failure(), "");

  document = json::parse(ReadFile(kData / "missing-bytes" / "tokenizer.json"));
  document["model"]["unk_token"] = "<none>";
  Write("tokenizer.json", document.dump());
  ExpectFailure("tokenizer.json", R"(model.unk_token: "<none>" is not in the vocabulary)");
  document["model"]["unk_token"] = "!";
  Write("tokenizer.json", document.dump());
  const auto tokenizer = LoadTokenizer(directory_.path());
  const TokenId unknown = *tokenizer->SingleToken("!");
  // The first byte of é has no token.
  EXPECT_EQ(tokenizer->Encode("é"), (Ids{unknown, tokenizer->Encode("é")[1]}));
}

TEST_F(TokenizerLoad, AVocabularyMayHaveHoles) {
  json document = nfc_;
  document["model"]["vocab"]["harbours"] = 4'000'000;
  Write("tokenizer.json", document.dump());
  const auto tokenizer = LoadTokenizer(directory_.path());
  EXPECT_EQ(tokenizer->vocab_size(), 4'000'001);
  EXPECT_EQ(tokenizer->Decode(Ids{4'000'000, 3'999'999}), "harbours");
}

TEST_F(TokenizerLoad, MergesMayBeSpelledEitherWay) {
  json document = nfc_;
  json lines = {"#version: 0.2"};
  for (const json& pair : nfc_["model"]["merges"]) {
    lines.push_back(pair[0].get<std::string>() + " " + pair[1].get<std::string>());
  }
  document["model"]["merges"] = lines;
  Write("tokenizer.json", document.dump());
  const std::string text = "the harbour is open and it's summer";
  const auto pairs = LoadTokenizer(kData / "nfc");
  EXPECT_LT(pairs->Encode(text).size(), text.size() / 2);
  EXPECT_EQ(LoadTokenizer(directory_.path())->Encode(text), pairs->Encode(text));
}

TEST_F(TokenizerLoad, SpecialTokensAreListedById) {
  const auto tokenizer = LoadTokenizer(kData / "digits");
  std::vector<std::string> texts;
  for (const SpecialToken& token : tokenizer->special_tokens()) {
    EXPECT_EQ(tokenizer->SingleToken(token.text), token.id);
    texts.push_back(token.text);
  }
  EXPECT_THAT(texts, testing::ElementsAre("<|endoftext|>", "<|im_start|>", "<|im_end|>"));
  EXPECT_EQ(tokenizer->kind(), "byte-level BPE");
}

TEST_F(TokenizerLoad, ALaterSectionGetsNoPrefixSpace) {
  const auto tokenizer = LoadTokenizer(kData / "prefix-space");
  const EncodeOptions later = {.at_start = false};
  EXPECT_EQ(tokenizer->Encode("", later), Ids{});
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("harbour")), " harbour");
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("harbour", later)), "harbour");
  EXPECT_EQ(tokenizer->Encode(" harbour", later), tokenizer->Encode("harbour"));
  // A text that follows an added token is not the first piece.
  const std::string text = "<|im_end|>harbour";
  EXPECT_EQ(tokenizer->Encode(text, later), tokenizer->Encode(text));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("a" + text, later)), "a<|im_end|> harbour");
}

TEST_F(TokenizerLoad, SpecialTokensMayBeEscaped) {
  const auto tokenizer = LoadTokenizer(kData / "digits");
  const EncodeOptions escape = {.special_tokens = SpecialTokensInText::kEscape};
  const std::string text = "a<|im_end|>b";
  const TokenId end = *tokenizer->SingleToken("<|im_end|>");
  EXPECT_THAT(tokenizer->Encode(text), testing::Contains(end));
  EXPECT_THAT(tokenizer->Encode(text, escape), testing::Not(testing::Contains(end)));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text, escape)), text);
}

TEST_F(TokenizerLoad, InvalidUtf8IsReplacedFirst) {
  const auto tokenizer = LoadTokenizer(kData / "nfc");
  EXPECT_EQ(tokenizer->Encode("a\xff\xf0\x9f z"), tokenizer->Encode("a\uFFFD\uFFFD z"));
}

/// A tokenizer_config.json, and its effect on a tokenizer.json whose own rule adds BOS.
struct ConfigCase {
  json config;
  Ids prefix;
  Ids suffix;
  std::optional<TokenId> bos;
};

TEST_F(TokenizerLoad, TheConfigurationAddsBosAndEos) {
  Write("tokenizer.json", ReadFile(kData / "ignore-merges" / "tokenizer.json"));
  const auto plain = LoadTokenizer(kData / "ignore-merges");
  const TokenId end = *plain->SingleToken("<|endoftext|>");
  const TokenId start = *plain->SingleToken("<|im_start|>");
  const TokenId a = *plain->SingleToken("a");
  const json token = {{"content", "<|im_start|>"}, {"special", true}};
  const std::string fast = "PreTrainedTokenizerFast";
  const std::vector<ConfigCase> cases = {
      {json::object(), {end}, {}, end},
      {{{"bos_token", "<|endoftext|>"}}, {end}, {}, end},
      {{{"bos_token", nullptr}, {"add_bos_token", nullptr}}, {end}, {}, end},
      {{{"bos_token", "<|im_start|>"}}, {end}, {}, std::nullopt},
      {{{"bos_token", token}, {"add_bos_token", true}}, {start}, {}, start},
      {{{"add_bos_token", false}}, {}, {}, std::nullopt},
      {{{"add_eos_token", true}, {"eos_token", "<|im_start|>"}}, {end}, {start}, end},
      {{{"add_bos_token", false}, {"tokenizer_class", "LlamaTokenizerFast"}}, {}, {}, std::nullopt},
      {{{"add_bos_token", false}, {"tokenizer_class", "GPTNeoXTokenizer"}}, {}, {}, std::nullopt},
      {{{"add_bos_token", false}, {"tokenizer_class", fast}}, {}, {}, std::nullopt},
      {{{"add_eos_token", true}, {"eos_token", "a"}, {"tokenizer_class", fast}}, {end}, {a}, end},
  };
  for (const ConfigCase& test : cases) {
    SCOPED_TRACE(test.config.dump());
    Write("tokenizer_config.json", test.config.dump());
    const auto tokenizer = LoadTokenizer(directory_.path());
    EXPECT_EQ(tokenizer->added_prefix(), test.prefix);
    EXPECT_EQ(tokenizer->added_suffix(), test.suffix);
    EXPECT_EQ(tokenizer->bos(), test.bos);
  }
}

TEST_F(TokenizerLoad, ABrokenConfigurationIsNamed) {
  Write("tokenizer.json", nfc_.dump());
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"{", "not JSON"},
      {"[]", "not an object"},
      {R"({"add_bos_token":1})", "add_bos_token: not true or false"},
      {R"({"bos_token":1})", "bos_token: not a string"},
      {R"({"bos_token":{}})", "\"content\" is missing"},
      {R"({"add_bos_token":true})", "bos_token is not set"},
      {R"({"add_bos_token":true,"bos_token":"<none>"})", "\"<none>\" is not in the vocabulary"},
      {R"({"add_eos_token":true})", "eos_token is not set"},
  };
  for (const auto& [text, what] : faults) {
    SCOPED_TRACE(text);
    Write("tokenizer_config.json", text);
    ExpectFailure("tokenizer_config.json", what);
  }
}

TEST_F(TokenizerLoad, TokenizerJsonComesBeforeTokenizerModel) {
  Write("tokenizer.json", nfc_.dump());
  Write("tokenizer.model", "not even looked at");
  EXPECT_EQ(LoadTokenizer(directory_.path())->kind(), "byte-level BPE");
  json document = nfc_;
  document["model"]["byte_fallback"] = true;
  document["pre_tokenizer"] = nullptr;
  Write("tokenizer.json", document.dump());
  EXPECT_EQ(LoadTokenizer(directory_.path())->kind(), "BPE with byte fallback");
}

}  // namespace tokenizer_load_test
}  // namespace scorecast::coordinator
