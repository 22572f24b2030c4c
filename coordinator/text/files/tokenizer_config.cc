#include "coordinator/text/files/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "coordinator/text/files/chat_template.h"
#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/read_added_tokens.h"
#include "coordinator/text/files/sentence_bert_config.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

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

/// Whether a member is always a token. Other members whose names end with `_token`, such as
/// `image_token`, are tokens only if their value looks like one, because `add_bos_token`, for
/// example, is a switch.
bool IsStandardName(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

void ReadNamedTokens(const JsonCursor& root, std::unordered_set<std::string>& tokens) {
  root.ForEachMember([&](const std::string& name, const JsonCursor& value) {
    const bool is_token = value.value().is_string() || value.value().contains("content");
    if (IsStandardName(name) || (name.ends_with("_token") && is_token)) {
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

/// Calls `read` with the root of a JSON file, if the file exists.
template <typename Read>
void ReadFile(const std::filesystem::path& file, const Read& read) {
  if (ModelFileExists(file)) {
    const nlohmann::json document = ParseJsonFile(ReadModelFile(file), file.string());
    read(JsonCursor(document, file.string()));
  }
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
  TokenizerConfig config;
  bool has_decoder = false;
  if (const std::optional<JsonFile> file = ReadTokenizerConfigFile(model_dir)) {
    const JsonCursor root(file->root, file->origin);
    config.origin = file->origin;
    config.add_bos_token = ReadSwitch(root, "add_bos_token");
    config.add_eos_token = ReadSwitch(root, "add_eos_token");
    config.add_prefix_space = ReadSwitch(root, "add_prefix_space");
    config.bos_token = ReadSpecialToken(root, "bos_token");
    config.eos_token = ReadSpecialToken(root, "eos_token");
    if (const std::optional<JsonCursor> decoder = root.Find("added_tokens_decoder")) {
      has_decoder = true;
      config.added_tokens = ReadAddedTokensDecoder(*decoder);
      config.added_tokens_origin = config.origin;
    }
    ReadNamedTokens(root, config.named_tokens);
    if (const std::optional<JsonCursor> chat_template = root.Find("chat_template")) {
      AppendChatTemplate(*chat_template, config.chat_templates);
    }
  }
  ReadFile(model_dir / "special_tokens_map.json", [&](const JsonCursor& root) {
    ReadNamedTokens(root, config.named_tokens);
    if (!config.bos_token) {
      config.bos_token = ReadSpecialToken(root, "bos_token");
    }
    if (!config.eos_token) {
      config.eos_token = ReadSpecialToken(root, "eos_token");
    }
  });
  if (!has_decoder) {
    const std::filesystem::path file = model_dir / "added_tokens.json";
    ReadFile(file, [&](const JsonCursor& root) {
      config.added_tokens = ReadAddedTokensFile(root);
      config.added_tokens_origin = file.string();
    });
    for (AddedToken& token : config.added_tokens) {
      token.special = config.named_tokens.contains(token.content);
      token.normalized = !token.special;
    }
  }
  AppendChatTemplateFiles(model_dir, config.chat_templates);
  return config;
}

}  // namespace scorecast::coordinator
