#include "coordinator/text/tokenizer.h"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/add_prefix_space.h"
#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/sentencepiece_tokenizer.h"
#include "coordinator/text/tokenizer_json.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  // PCRE2 reads out of bounds if a text is not valid UTF-8. A caller's mistake must not get that
  // far.
  std::string repaired;
  if (!IsValidUtf8(text)) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  std::vector<TokenId> ids = EncodeText(text, options);
  if (options.special_tokens == SpecialTokensInText::kAllow) {
    return ids;
  }
  const auto is_escaped = [&](TokenId id) { return !EscapedSpelling(id).empty(); };
  if (std::none_of(ids.begin(), ids.end(), is_escaped)) {
    return ids;
  }
  std::vector<TokenId> escaped;
  for (const TokenId id : ids) {
    AppendEscaped(id, escaped);
  }
  return escaped;
}

/// Appends a token or, if it has an escaped spelling, the tokens of its first character and those
/// of the rest of its text. A token of one character stays, because its text cannot be cut. Each
/// cut shortens the spelling, so a part that becomes a token of a longer one, by an odd
/// normalization, is left out.
void Tokenizer::AppendEscaped(TokenId id, std::vector<TokenId>& ids) const {
  const std::string_view text = EscapedSpelling(id);
  const std::size_t first = text.empty() ? 0 : FirstCodePoint(text).length;
  if (first == text.size()) {
    ids.push_back(id);
    return;
  }
  for (const std::string_view part : {text.substr(0, first), text.substr(first)}) {
    for (const TokenId part_id :
         EncodeText(part, {.at_start = false, .special_tokens = SpecialTokensInText::kEscape})) {
      if (EscapedSpelling(part_id).size() < text.size()) {
        AppendEscaped(part_id, ids);
      }
    }
  }
}

std::vector<TokenId> Tokenizer::EncodeWithAdded(std::string_view text,
                                                const EncodeOptions& options) const {
  std::vector<TokenId> ids = added_prefix();
  const std::vector<TokenId> encoded = Encode(text, options);
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  ids.insert(ids.end(), added_suffix().begin(), added_suffix().end());
  return ids;
}

std::optional<TokenId> Tokenizer::SingleToken(std::string_view text) const {
  const std::vector<TokenId> ids = Encode(text);
  return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
}

std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& model_dir) {
  const std::filesystem::path json_file = model_dir / "tokenizer.json";
  const std::filesystem::path model_file = model_dir / "tokenizer.model";
  const TokenizerConfig config = LoadTokenizerConfig(model_dir);
  if (ModelFileExists(json_file)) {
    const std::string origin = json_file.string();
    nlohmann::json document = ParseJsonFile(ReadModelFile(json_file), origin);
    if (config.add_prefix_space) {
      SetAddPrefixSpace(*config.add_prefix_space, document);
    }
    return ReadTokenizerJson(document, config, origin);
  }
  if (ModelFileExists(model_file)) {
    return std::make_unique<SentencePieceTokenizer>(ReadModelFile(model_file), config,
                                                    model_file.string());
  }
  return nullptr;
}

}  // namespace scorecast::coordinator
