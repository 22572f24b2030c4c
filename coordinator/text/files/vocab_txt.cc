#include "coordinator/text/files/vocab_txt.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/sentence_bert_config.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

/// Classes of transformers that read a vocab.txt in the way of BERT; each may end in "Fast".
constexpr std::array<std::string_view, 3> kClasses = {"BertTokenizer", "DistilBertTokenizer",
                                                      "ElectraTokenizer"};

struct NamedToken {
  std::string_view name;
  std::string_view by_default;
};

constexpr std::array<NamedToken, 5> kNamedTokens = {{{"pad_token", "[PAD]"},
                                                     {"unk_token", "[UNK]"},
                                                     {"cls_token", "[CLS]"},
                                                     {"sep_token", "[SEP]"},
                                                     {"mask_token", "[MASK]"}}};

json ReadObject(const std::filesystem::path& file) {
  json document =
      ModelFileExists(file) ? ParseJsonFile(ReadModelFile(file), file.string()) : json::object();
  JsonCursor(document, file.string()).Find("");  // Throws if it is no object.
  return document;
}

/// The text without white space at its end.
std::string_view TrimEnd(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = FirstCodePoint(text.substr(at));
    at += next.length;
    if (!IsWhiteSpace(next.value)) {
      end = at;
    }
  }
  return text.substr(0, end);
}

/// Ids by text: the numbers of the lines. If two lines are equal, the last one counts, and the
/// other id has no token.
json ReadVocabularyLines(std::string_view text, const std::string& origin) {
  if (!IsValidUtf8(text)) {
    throw proto::StartupError(origin + ": not UTF-8");
  }
  json vocabulary = json::object();
  std::uint64_t id = 0;
  for (std::string_view rest = text; !rest.empty(); ++id) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    const std::string_view token = TrimEnd(rest.substr(0, end + 1));
    if (!token.empty()) {
      vocabulary[std::string(token)] = id;
    }
    rest.remove_prefix(end + 1);
  }
  return vocabulary;
}

void CheckClass(const JsonCursor& config) {
  const std::optional<JsonCursor> name = config.Find("tokenizer_class");
  if (!name) {
    return;
  }
  std::string_view base = name->String();
  constexpr std::string_view kFast = "Fast";
  if (base.ends_with(kFast)) {
    base.remove_suffix(kFast.size());
  }
  if (std::ranges::find(kClasses, base) == kClasses.end()) {
    name->Fail(Quoted(name->String()) +
               " with a vocab.txt, but no tokenizer.json, is not supported");
  }
}

/// A token by its name in one of the files: its text, or an object with `content` and flags.
std::optional<JsonCursor> FindToken(const JsonCursor& config, const JsonCursor& map,
                                    std::string_view name) {
  const std::optional<JsonCursor> token = config.Find(name);
  return token ? token : map.Find(name);
}

/// An entry of `added_tokens`, without its id.
json AddedTokenOf(const std::optional<JsonCursor>& token, std::string_view by_default) {
  const bool is_object = token && token->value().is_object();
  json added = {{"content", std::string(by_default)}, {"special", true}};
  if (token) {
    added["content"] = is_object ? token->At("content").String() : token->String();
  }
  for (const std::string_view flag : {"lstrip", "rstrip", "normalized", "single_word"}) {
    added[std::string(flag)] = is_object && token->Flag(flag, false);
  }
  return added;
}

json Place(const char* kind, const std::string& id, int type) {
  return {{kind, {{"id", id}, {"type_id", type}}}};
}

}  // namespace

json TokenizerJsonOfVocabTxt(const std::filesystem::path& model_dir) {
  const std::filesystem::path vocab_file = model_dir / "vocab.txt";
  const std::filesystem::path map_file = model_dir / "special_tokens_map.json";
  const JsonFile config = ReadTokenizerConfigFile(model_dir).value_or(
      JsonFile{json::object(), (model_dir / "tokenizer_config.json").string()});
  const JsonCursor config_root(config.root, config.origin);
  config_root.Find("");  // Throws if it is no object.
  const json map_document = ReadObject(map_file);
  return TokenizerJsonOfVocabTxt(ReadModelFile(vocab_file), vocab_file.string(), config_root,
                                 JsonCursor(map_document, map_file.string()));
}

json TokenizerJsonOfVocabTxt(std::string_view text, const std::string& origin,
                             const JsonCursor& config, const JsonCursor& map) {
  CheckClass(config);
  json vocabulary = ReadVocabularyLines(text, origin);
  json added = json::array();
  const auto add = [&](json token) {
    const auto entry = vocabulary.find(token["content"].get<std::string>());
    const auto is_same = [&](const json& other) { return other["content"] == token["content"]; };
    if (entry != vocabulary.end() && std::ranges::none_of(added, is_same)) {
      token["id"] = *entry;
      added.push_back(std::move(token));
    }
    return entry != vocabulary.end();
  };
  json names;
  json special_tokens;
  for (const NamedToken& named : kNamedTokens) {
    const json token = AddedTokenOf(FindToken(config, map, named.name), named.by_default);
    const std::string content = token["content"];
    names[std::string(named.name)] = content;
    if (add(token)) {
      special_tokens[content]["ids"] = json::array({vocabulary[content]});
    } else if (named.name != "pad_token" && named.name != "mask_token") {
      throw proto::StartupError(origin + ": has no token " + Quoted(content) + ", the " +
                                std::string(named.name));
    }
  }
  if (const auto list = FindToken(config, map, "additional_special_tokens")) {
    list->ForEachElement([&](const JsonCursor& token) { add(AddedTokenOf(token, "")); });
  }
  const std::string cls = names["cls_token"];
  const std::string sep = names["sep_token"];
  const json single = {Place("SpecialToken", cls, 0), Place("Sequence", "A", 0),
                       Place("SpecialToken", sep, 0)};
  json pair = single;
  pair.push_back(Place("Sequence", "B", 1));
  pair.push_back(Place("SpecialToken", sep, 1));
  const std::optional<JsonCursor> strip_accents = config.Find("strip_accents");
  constexpr int kLongestWord = 100;
  return {{"added_tokens", std::move(added)},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", config.Flag("tokenize_chinese_chars", true)},
            {"strip_accents", strip_accents ? json(strip_accents->Bool()) : json()},
            {"lowercase", config.Flag("do_lower_case", true)}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", single},
            {"pair", std::move(pair)},
            {"special_tokens", std::move(special_tokens)}}},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", names["unk_token"]},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", kLongestWord},
            {"vocab", std::move(vocabulary)}}}};
}

}  // namespace scorecast::coordinator
