// What the files beside a tokenizer.json change: against the output of transformers (see
// data/configured/make_configured.py), and where the documentation says that it differs.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/text/files/tokenizer_class.h"
#include "coordinator/text/tokenizer.h"
#include "coordinator/text/typed_tokens.h"
#include "proto/base/error.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/reference/directories.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace configured_tokenizer_test {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Ids = std::vector<TokenId>;
using Types = std::vector<std::uint8_t>;

const std::filesystem::path kData =
    std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" / "data";
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

json ReadJson(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return json::parse(stream);
}

/// A tokenizer of `data`, changed by a merge patch, and the files beside it.
class Directory {
 public:
  explicit Directory(const std::string& base, const json& patch = json::object()) {
    json document = ReadJson(kData / base / "tokenizer.json");
    document.merge_patch(patch);
    Write("tokenizer.json", document);
  }

  void WriteText(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name) << text;
  }
  void Write(const std::string& name, const json& content) const {
    WriteText(name, content.dump());
  }

  std::unique_ptr<Tokenizer> Load(std::int64_t embedding_rows = kNoLimit) const {
    return LoadTokenizer(path(), {}, embedding_rows);
  }

  /// The error of loading without the path of the directory; empty if there is none.
  std::string Failure(std::int64_t embedding_rows = kNoLimit) const {
    try {
      Load(embedding_rows);
      return "";
    } catch (const proto::StartupError& error) {
      const std::string message = error.what();
      const std::string directory = path().string() + "/";
      EXPECT_THAT(message, StartsWith(directory));
      return message.substr(directory.size());
    }
  }

 private:
  const std::filesystem::path& path() const { return directory_.path(); }

  reference::TempDirectory directory_;
};

struct Case {
  std::string name;
  json record;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const json& record : ReadJsonLines(kData / "configured" / "cases.jsonl")) {
    cases.push_back({record["name"], record});
  }
  return cases;
}

class ConfiguredTokenizer : public testing::TestWithParam<Case> {};

TEST_P(ConfiguredTokenizer, GivesTheReferencesTokens) {
  const json& record = GetParam().record;
  const Directory directory(record["base"].get<std::string>(), record["patch"]);
  for (const auto& [name, content] : record["files"].items()) {
    directory.WriteText(name, content);
  }
  const auto tokenizer = directory.Load();
  const TextRules& rules = tokenizer->rules();
  ASSERT_GE(record["texts"].size(), 8u);
  for (const json& text : record["texts"]) {
    SCOPED_TRACE(text.dump());
    const std::string a = text["a"];
    const std::string b = text["b"];
    const auto pair = EncodeTyped(*tokenizer, a, b);
    EXPECT_EQ(pair->ids, text["ids"].get<Ids>());
    EXPECT_EQ(rules.gives_token_types, !text["token_type_ids"].is_null());
    if (rules.gives_token_types) {
      EXPECT_EQ(pair->types, text["token_type_ids"].get<Types>());
    }
    const auto cut = EncodeTyped(*tokenizer, a, b,
                                 {.truncation = {.max_length = record["max_length"],
                                                 .strategy = Truncation::Strategy::kLongestFirst,
                                                 .side = rules.truncation_side}});
    EXPECT_EQ(cut->ids, text["cut"].get<Ids>());
    EXPECT_EQ(EncodeTyped(*tokenizer, a)->ids, text["single"].get<Ids>());
  }
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ConfiguredTokenizer, testing::ValuesIn(Cases()), NameOf);

const std::string kUncased = "encoders/wordpiece-uncased";

// transformers 5.24 gives no types here.
TEST(TokenizerRules, AClassOfVersion4GivesTokenTypes) {
  const Directory directory(kUncased);
  directory.Write("config.json", {{"model_type", "bert"}});
  directory.Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  EXPECT_TRUE(directory.Load()->rules().gives_token_types);
  EXPECT_THAT(directory.Load()->rules().note_on_types, HasSubstr("PreTrainedTokenizerFast"));
  EXPECT_THAT(directory.Load()->rules().notes, IsEmpty());
  directory.Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                            {"model_input_names", {"input_ids"}}});
  EXPECT_FALSE(directory.Load()->rules().gives_token_types);
  EXPECT_EQ(directory.Load()->rules().note_on_types, "");
}

TEST(TokenizerRules, ADirectoryWithoutNamesHasTypesAndIsCutAtTheRight) {
  const Directory directory(kUncased);
  const TextRules rules = directory.Load()->rules();
  EXPECT_TRUE(rules.gives_token_types);
  EXPECT_EQ(rules.truncation_side, TruncationSide::kRight);
  EXPECT_THAT(rules.notes, IsEmpty());
  EXPECT_EQ(rules.note_on_types, "");
}

TEST(TokenizerRules, ATokenizerThatTransformersRebuildsIsNoted) {
  const Directory bert(kUncased);
  bert.Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizerFast"}});
  EXPECT_THAT(bert.Load()->rules().notes,
              ElementsAre("tokenizer.json is followed as it is, with do_lower_case, strip_accents "
                          "and tokenize_chinese_chars on top; transformers 5.24 rebuilds it for "
                          "its class, BertTokenizer"));
  const Directory llama("nfc");
  llama.Write("tokenizer_config.json", {{"tokenizer_class", "LlamaTokenizer"}});
  EXPECT_THAT(llama.Load()->rules().notes, IsEmpty()) << "it is byte-level";
  llama.Write("tokenizer_config.json", {{"tokenizer_class", "Qwen2Tokenizer"}});
  EXPECT_THAT(llama.Load()->rules().notes,
              ElementsAre("tokenizer.json is followed as it is; transformers 5.24 rebuilds it for "
                          "its class, Qwen2Tokenizer"));
}

TEST(TokenizerRules, TokensWithOtherIdsThanTheirFileSaysAreNoted) {
  const auto token = [](TokenId id, const std::string& content) {
    return json{{"id", id}, {"content", content}, {"special", true}};
  };
  const Directory directory(
      "nfc", {{"added_tokens", {token(600, "<a>"), token(561, "<b>"), token(9, "<c>")}}});
  const auto tokenizer = directory.Load();
  EXPECT_THAT(tokenizer->rules().notes,
              ElementsAre("the added token \"<a>\" has the id 560 and not 600, and 1 more: ids are "
                          "those of tokenizers' Tokenizer.from_file"));
  EXPECT_THAT(tokenizer->Encode("<a><b><c>"), ElementsAre(560, 561, 562));
}

// transformers has only BertNormalizer for this class.
TEST(BertSwitches, AreOnTopOfOtherNormalizers) {
  const auto with = [](const json& normalizer, json config) {
    json document = ReadJson(kData / kUncased / "tokenizer.json");
    document["normalizer"] = normalizer;
    config["tokenizer_class"] = "BertTokenizer";
    auto directory = std::make_unique<Directory>(kUncased);
    directory->Write("tokenizer.json", document);
    directory->Write("tokenizer_config.json", config);
    return directory;
  };
  const json nfc = {{"type", "NFC"}};
  const json lower = {{"type", "Sequence"}, {"normalizers", {nfc, {{"type", "Lowercase"}}}}};
  const TokenId water = *Directory(kUncased).Load()->SingleToken("water");
  EXPECT_THAT(with(nfc, json::object())->Load()->Encode("WATER"), Not(Contains(water)));
  for (const json& normalizer : {json(), nfc, lower}) {
    EXPECT_THAT(with(normalizer, {{"do_lower_case", true}})->Load()->Encode("WATÉR"),
                ElementsAre(water));
  }
  EXPECT_EQ(with(lower, {{"do_lower_case", false}})->Failure(),
            "tokenizer_config.json: do_lower_case: false is not supported, because tokenizer.json "
            "has the normalizer Lowercase");
  EXPECT_EQ(with({{"type", "StripAccents"}}, {{"strip_accents", false}})->Failure(),
            "tokenizer_config.json: strip_accents: false is not supported, because tokenizer.json "
            "has the normalizer StripAccents");
  // A nested one, too.
  const json nested = {{"type", "Sequence"},
                       {"normalizers",
                        {{{"type", "Sequence"},
                          {"normalizers",
                           {{{"type", "BertNormalizer"},
                             {"clean_text", true},
                             {"handle_chinese_chars", true},
                             {"lowercase", false}}}}}}}};
  EXPECT_THAT(with(nested, {{"do_lower_case", true}})->Load()->Encode("WATER"), ElementsAre(water));
}

TEST(NewSpecialTokens, NeedARowOfTheEmbedding) {
  const Directory directory(kUncased);
  directory.Write("tokenizer_config.json",
                  {{"bos_token", "<s>"}, {"additional_special_tokens", {"[SEP]", "<e>"}}});
  EXPECT_EQ(directory.Load(1102)->SingleToken("<e>"), 1101);
  EXPECT_EQ(directory.Load(1102)->vocab_size(), 1102);
  EXPECT_THAT(directory.Load(1102)->rules().notes, IsEmpty());
  const std::unique_ptr<Tokenizer> without = directory.Load(1101);
  EXPECT_EQ(without->SingleToken("<e>"), std::nullopt);
  EXPECT_EQ(without->vocab_size(), 1101);
  EXPECT_THAT(without->rules().notes,
              ElementsAre(HasSubstr(
                  "tokenizer_config.json: additional_special_tokens: \"<e>\" is plain text, "
                  "because neither tokenizer nor model has such a token")));
  directory.Write("tokenizer_config.json", json::object());
  directory.Write("special_tokens_map.json", {{"pad_token", {{"content", "<p>"}}}});
  EXPECT_THAT(directory.Load(1100)->rules().notes,
              ElementsAre(HasSubstr("special_tokens_map.json: pad_token: ")));
  directory.Write("special_tokens_map.json", {{"mask_token", "[MASK]"}});
  EXPECT_EQ(directory.Failure(1), "") << "the model refuses ids that it does not have";
}

TEST(SplitSpecialTokens, AreLabelsAllTheSame) {
  const Directory directory(kUncased);
  directory.Write("tokenizer_config.json", {{"split_special_tokens", true}});
  const auto tokenizer = directory.Load();
  EXPECT_EQ(tokenizer->SingleToken("[SEP]"), 3);
  EXPECT_THAT(tokenizer->Encode("[SEP]"), Not(Contains(3)));
  EXPECT_FALSE(tokenizer->SingleToken("[SEP] a").has_value());
  EXPECT_EQ(EncodeTyped(*tokenizer, "")->ids, (Ids{2, 3})) << "those of the template stay";
}

TEST(TokenizerConfigFile, WrongTypesAreNamed) {
  const std::vector<std::pair<json, std::string>> faults = {
      {{{"truncation_side", 3}}, "truncation_side: not a string"},
      {{{"truncation_side", "Left"}}, R"(truncation_side: "Left" is neither "left" nor "right")"},
      {{{"model_input_names", "input_ids"}}, "model_input_names: not a list"},
      {{{"model_input_names", {1}}}, "model_input_names[0]: not a string"},
      {{{"split_special_tokens", "yes"}}, "split_special_tokens: not true or false"},
      {{{"tokenizer_class", 1}}, "tokenizer_class: not a string"},
      {{{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", "no"}},
       "do_lower_case: not true or false"},
      {{{"tokenizer_class", "BertTokenizer"}, {"strip_accents", 1}},
       "strip_accents: not true or false"},
      {{{"tokenizer_class", "BertTokenizer"}, {"tokenize_chinese_chars", 1}},
       "tokenize_chinese_chars: not true or false"},
      {{{"extra_special_tokens", {{"a_token", 3}}}}, "extra_special_tokens.a_token: not a string"},
  };
  for (const auto& [config, what] : faults) {
    const Directory directory(kUncased);
    directory.Write("tokenizer_config.json", config);
    EXPECT_EQ(directory.Failure(), "tokenizer_config.json: " + what);
  }
  const Directory up(kUncased, {{"truncation", {{"direction", "Up"}}}});
  EXPECT_EQ(up.Failure(),
            R"(tokenizer.json: truncation.direction: "Up" is neither "Left" nor "Right")");
  const Directory three(kUncased, {{"truncation", 3}});
  EXPECT_EQ(three.Failure(), "tokenizer.json: truncation: not an object");
}

TEST(TokenizerClasses, AreThoseThatTransformersTakes) {
  struct Row {
    std::string named;
    std::string model_type;
    std::string name;
  };
  const std::vector<Row> rows = {
      {"", "", ""},
      {"", "bert", "BertTokenizer"},
      {"", "modernbert", "TokenizersBackend"},
      {"", "unheard-of", ""},
      {"BertTokenizerFast", "", "BertTokenizer"},
      {"PreTrainedTokenizerFast", "bert", "TokenizersBackend"},
      {"LlamaTokenizerFast", "llama", "LlamaTokenizer"},
      {"LlamaTokenizer", "mistral", "TokenizersBackend"},
      {"PreTrainedTokenizerFast", "qwen2", "Qwen2Tokenizer"},
      {"PreTrainedTokenizerFast", "qwen3", "TokenizersBackend"},
      {"XLMRobertaTokenizer", "bert", "XLMRobertaTokenizer"},
      {"TokenizersBackend", "unheard-of", "TokenizersBackend"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(TokenizerClass(row.named, row.model_type).name(), row.name)
        << row.named << " " << row.model_type;
  }
}

}  // namespace configured_tokenizer_test
}  // namespace scorecast::coordinator
