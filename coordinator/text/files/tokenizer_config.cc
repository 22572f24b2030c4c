#include "coordinator/text/files/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/chat_template.h"
#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/read_added_tokens.h"
#include "coordinator/text/files/sentence_bert_config.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

std::optional<bool> ReadSwitch(const JsonCursor& config, std::string_view name) {
  const std::optional<JsonCursor> value = config.Find(name);
  return value ? std::optional(value->Bool()) : std::nullopt;
}

/// A token is given as its text, or as an object with the text as `content`.
std::string ReadSpelling(const JsonCursor& token) {
  return token.value().is_object() ? token.At("content").String() : token.String();
}

std::optional<std::string> ReadSpecialToken(const JsonCursor& config, std::string_view name) {
  const std::optional<JsonCursor> value = config.Find(name);
  return value ? std::optional(ReadSpelling(*value)) : std::nullopt;
}

/// The names of the tokens that every tokenizer may have, in the order in which transformers adds
/// the tokens.
constexpr std::array<std::string_view, 7> kStandardNames = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

bool IsStandardName(std::string_view name) {
  return std::ranges::find(kStandardNames, name) != kStandardNames.end();
}

/// Whether the member is a token that only some models have, such as `image_token`. Others with
/// such names, such as `add_bos_token`, are switches.
bool IsOwnToken(std::string_view name, const nlohmann::json& value) {
  return name.ends_with("_token") && !IsStandardName(name) &&
         (value.is_string() || value.contains("content"));
}

using Names = std::vector<std::string>;

/// The names of a document's members, and of their members, in the order of the file. A document
/// itself is sorted by name.
class MemberOrder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  const Names& of_root() const { return of_root_; }
  /// `member` must be there, and an object with members.
  const Names& Of(const std::string& member) const { return of_members_.at(member); }

  bool key(std::string& name) override {
    if (depth_ == 1) {
      of_root_.push_back(name);
    } else if (depth_ == 2 && !of_root_.empty()) {
      of_members_[of_root_.back()].push_back(name);
    }
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return Descend(1); }
  bool end_object() override { return Descend(-1); }
  bool start_array(std::size_t /*size*/) override { return Descend(1); }
  bool end_array() override { return Descend(-1); }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t /*value*/) override { return true; }
  bool number_unsigned(std::uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return true; }
  bool parse_error(std::size_t /*byte*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  bool Descend(int levels) {
    depth_ += levels;
    return true;
  }

  int depth_ = 0;
  Names of_root_;
  std::map<std::string, Names> of_members_;
};

/// A JSON file whose root is an object: an empty one if there is no file.
class ConfigFile {
 public:
  ConfigFile() = default;
  /// `content` counts instead of the file's, if it is there.
  explicit ConfigFile(const std::filesystem::path& file,
                      std::optional<JsonFile> content = std::nullopt)
      : path_(file.string()) {
    if (ModelFileExists(file)) {
      const std::string text = ReadModelFile(file);
      document_ = ParseJsonFile(text, path_);
      nlohmann::json::sax_parse(text, &order_);
    }
    if (content) {
      document_ = std::move(content->root);
      path_ = std::move(content->origin);
    }
    Root().Find("");  // Throws if it is no object.
  }

  const std::string& path() const { return path_; }
  JsonCursor Root() const { return {document_, path_}; }
  std::optional<JsonCursor> Find(std::string_view name) const { return Root().Find(name); }

  /// The names of the root's members, or of a member's members, in the order of the file.
  const Names& Members() const { return order_.of_root(); }
  const Names& MembersOf(const std::string& name) const { return order_.Of(name); }

 private:
  std::string path_;
  nlohmann::json document_ = nlohmann::json::object();
  MemberOrder order_;
};

AddedToken ReadNamedToken(const JsonCursor& value) {
  const bool is_object = value.value().is_object();
  const auto flag = [&](std::string_view name) { return is_object && value.Flag(name, false); };
  return {.id = -1,
          .content = ReadSpelling(value),
          .special = true,
          .single_word = flag("single_word"),
          .lstrip = flag("lstrip"),
          .rstrip = flag("rstrip"),
          .normalized = flag("normalized")};
}

/// Collects the special tokens that tokenizer_config.json and special_tokens_map.json name, in the
/// order of transformers: standard names, names of the model's own, lists.
class SpecialTokensReader {
 public:
  SpecialTokensReader(const ConfigFile& config, const ConfigFile& map)
      : config_(config), map_(map) {}

  std::vector<NamedSpecialToken> Read() && {
    for (const std::string_view name : kStandardNames) {
      const std::string key(name);
      AddMember(config_.Find(name) ? config_ : map_, key);
    }
    // Tokens that are objects come before those that are strings.
    for (const std::string& name : config_.Members()) {
      AddOwn(config_, name, /*as_object=*/true);
    }
    for (const std::string& name : map_.Members()) {
      AddOwn(map_, name, /*as_object=*/true);
      AddOwn(map_, name, /*as_object=*/false);
    }
    for (const std::string& name : config_.Members()) {
      AddOwn(config_, name, /*as_object=*/false);
    }
    AddObject(config_, "extra_special_tokens");
    AddObject(config_, "model_specific_special_tokens");
    AddObject(map_, "extra_special_tokens");
    if (!AddList(config_, "extra_special_tokens") &&
        !AddList(config_, "additional_special_tokens")) {
      AddList(map_, "additional_special_tokens");
    }
    AddList(map_, "extra_special_tokens");
    return std::move(tokens_);
  }

 private:
  void Add(const ConfigFile& file, const std::string& key, const JsonCursor& value) {
    tokens_.push_back({.origin = file.path() + ": " + key, .token = ReadNamedToken(value)});
  }

  void AddMember(const ConfigFile& file, const std::string& key) {
    if (const std::optional<JsonCursor> value = file.Find(key)) {
      Add(file, key, *value);
    }
  }

  void AddOwn(const ConfigFile& file, const std::string& name, bool as_object) {
    const std::optional<JsonCursor> value = file.Find(name);
    if (value && IsOwnToken(name, value->value()) && value->value().is_object() == as_object) {
      Add(file, name, *value);
    }
  }

  void AddObject(const ConfigFile& file, const std::string& key) {
    const std::optional<JsonCursor> tokens = file.Find(key);
    if (tokens && tokens->value().is_object() && !tokens->value().empty()) {
      for (const std::string& name : file.MembersOf(key)) {
        if (const std::optional<JsonCursor> value = tokens->Find(name)) {
          Add(file, key + "." + name, *value);
        }
      }
    }
  }

  /// Whether there is such a list with an element.
  bool AddList(const ConfigFile& file, const std::string& key) {
    const std::optional<JsonCursor> tokens = file.Find(key);
    if (!tokens || !tokens->value().is_array()) {
      return false;
    }
    tokens->ForEachElement([&](const JsonCursor& value) { Add(file, key, value); });
    return !tokens->value().empty();
  }

  const ConfigFile& config_;
  const ConfigFile& map_;
  std::vector<NamedSpecialToken> tokens_;
};

void ReadNamedTokens(const JsonCursor& root, std::unordered_set<std::string>& tokens) {
  root.ForEachMember([&](const std::string& name, const JsonCursor& value) {
    if (IsStandardName(name) || IsOwnToken(name, value.value())) {
      tokens.insert(ReadSpelling(value));
    } else if (name == "additional_special_tokens" || name == "extra_special_tokens" ||
               name == "model_specific_special_tokens") {
      if (value.value().is_object()) {
        value.ForEachMember([&](const std::string& /*name*/, const JsonCursor& token) {
          tokens.insert(ReadSpelling(token));
        });
      } else {
        value.ForEachElement([&](const JsonCursor& token) { tokens.insert(ReadSpelling(token)); });
      }
    }
  });
}

/// A string of an object; empty if it is not there.
std::string FindName(const JsonCursor& object, std::string_view name) {
  const std::optional<JsonCursor> value = object.Find(name);
  return value ? value->String() : std::string();
}

TokenizerClass ReadTokenizerClass(const ConfigFile& config,
                                  const std::filesystem::path& model_dir) {
  std::string named = FindName(config.Root(), "tokenizer_class");
  std::string model_type;
  try {
    const ConfigFile model(model_dir / "config.json");
    model_type = FindName(model.Root(), "model_type");
    named = named.empty() ? FindName(model.Root(), "tokenizer_class") : named;
  } catch (const proto::StartupError&) {
    // The reader of the model's configuration names the fault.
  }
  return {named, model_type};
}

std::optional<TruncationSide> ReadTruncationSide(const JsonCursor& config) {
  const std::optional<JsonCursor> side = config.Find("truncation_side");
  if (!side) {
    return std::nullopt;
  }
  if (side->String() != "left" && side->String() != "right") {
    side->Fail(Quoted(side->String()) + R"( is neither "left" nor "right")");
  }
  return side->String() == "left" ? TruncationSide::kLeft : TruncationSide::kRight;
}

std::optional<bool> ReadModelInputTypes(const JsonCursor& config) {
  const std::optional<JsonCursor> inputs = config.Find("model_input_names");
  if (!inputs) {
    return std::nullopt;
  }
  bool has_types = false;
  inputs->ForEachElement(
      [&](const JsonCursor& name) { has_types = name.String() == "token_type_ids" || has_types; });
  return has_types;
}

bool IsWhiteSpaceOnly(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!IsWhiteSpace(first.value)) {
      return false;
    }
    text.remove_prefix(first.length);
  }
  return true;
}

}  // namespace

void TokenizerConfig::MarkEscapable(AddedToken& token) const {
  token.escapable =
      token.special || named_tokens.contains(token.content) ||
      (!IsWhiteSpaceOnly(token.content) && chat_templates.find(token.content) != std::string::npos);
}

TokenizerConfig LoadTokenizerConfig(const std::filesystem::path& model_dir) {
  const ConfigFile file(model_dir / "tokenizer_config.json", ReadTokenizerConfigFile(model_dir));
  const ConfigFile map(model_dir / "special_tokens_map.json");
  const JsonCursor root = file.Root();
  TokenizerConfig config;
  config.origin = file.path();
  config.tokenizer_class = ReadTokenizerClass(file, model_dir);
  config.add_bos_token = ReadSwitch(root, "add_bos_token");
  config.add_eos_token = ReadSwitch(root, "add_eos_token");
  config.add_prefix_space = ReadSwitch(root, "add_prefix_space");
  if (config.tokenizer_class.HasBertSwitches()) {
    config.do_lower_case = ReadSwitch(root, "do_lower_case");
    config.strip_accents = ReadSwitch(root, "strip_accents");
    config.tokenize_chinese_chars = ReadSwitch(root, "tokenize_chinese_chars");
  }
  config.truncation_side = ReadTruncationSide(root);
  config.split_special_tokens = root.Flag("split_special_tokens", false);
  config.model_input_types = ReadModelInputTypes(root);
  for (const JsonCursor& named : {root, map.Root()}) {
    if (!config.bos_token) {
      config.bos_token = ReadSpecialToken(named, "bos_token");
    }
    if (!config.eos_token) {
      config.eos_token = ReadSpecialToken(named, "eos_token");
    }
    ReadNamedTokens(named, config.named_tokens);
  }
  if (const std::optional<JsonCursor> chat_template = root.Find("chat_template")) {
    AppendChatTemplate(*chat_template, config.chat_templates);
  }
  if (const std::optional<JsonCursor> decoder = root.Find("added_tokens_decoder")) {
    config.added_tokens = ReadAddedTokensDecoder(*decoder);
    config.added_tokens_origin = config.origin;
    config.special_tokens = SpecialTokensReader(file, ConfigFile()).Read();
  } else {
    const ConfigFile added(model_dir / "added_tokens.json");
    config.added_tokens = ReadAddedTokensFile(added.Root());
    config.added_tokens_origin = added.path();
    for (AddedToken& token : config.added_tokens) {
      token.special = config.named_tokens.contains(token.content);
      token.normalized = !token.special;
    }
    config.special_tokens = SpecialTokensReader(file, map).Read();
  }
  AppendChatTemplateFiles(model_dir, config.chat_templates);
  return config;
}

}  // namespace scorecast::coordinator
