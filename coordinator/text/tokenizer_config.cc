#include "coordinator/text/tokenizer_config.h"

#include <algorithm>
#include <array>

#include "coordinator/text/json_cursor.h"
#include "coordinator/text/model_file.h"

namespace scorecast::coordinator {
namespace {

std::optional<bool> ReadSwitch(const JsonCursor& config, std::string_view name) {
  const std::optional<JsonCursor> value = config.Find(name);
  return value ? std::optional(value->Bool()) : std::nullopt;
}

std::optional<std::string> ReadString(const JsonCursor& config, std::string_view name) {
  const std::optional<JsonCursor> value = config.Find(name);
  return value ? std::optional(value->String()) : std::nullopt;
}

/// A token is given as its text, or as an object with the text as `content`.
std::optional<std::string> ReadToken(const JsonCursor& config, std::string_view name) {
  const std::optional<JsonCursor> value = config.Find(name);
  if (!value) {
    return std::nullopt;
  }
  return value->value().is_object() ? value->At("content").String() : value->String();
}

}  // namespace

bool TokenizerConfig::overrides_post_processor() const {
  if (!tokenizer_class) {
    return true;
  }
  static constexpr std::array<std::string_view, 5> kClasses = {
      "LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer",
      "GPTNeoXTokenizer"};
  std::string_view name = *tokenizer_class;
  if (name.ends_with("Fast")) {
    name.remove_suffix(4);
  }
  return std::find(kClasses.begin(), kClasses.end(), name) != kClasses.end();
}

TokenizerConfig ParseTokenizerConfig(std::string_view json_text, const std::string& origin) {
  const nlohmann::json document = ParseJsonFile(json_text, origin);
  const JsonCursor config(document, origin);
  return {.origin = origin,
          .add_bos_token = ReadSwitch(config, "add_bos_token"),
          .add_eos_token = ReadSwitch(config, "add_eos_token"),
          .bos_token = ReadToken(config, "bos_token"),
          .eos_token = ReadToken(config, "eos_token"),
          .tokenizer_class = ReadString(config, "tokenizer_class")};
}

TokenizerConfig LoadTokenizerConfig(const std::filesystem::path& file) {
  if (!ModelFileExists(file)) {
    return {};
  }
  return ParseTokenizerConfig(ReadModelFile(file), file.string());
}

}  // namespace scorecast::coordinator
