#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "coordinator/text/steps/added_tokens.h"

namespace scorecast::coordinator {

/// What the files beside a tokenizer.json or tokenizer.model say about it.
struct TokenizerConfig {
  std::string origin;  ///< tokenizer_config.json, for messages.
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<bool> add_prefix_space;
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;

  /// `added_tokens_decoder` or, if it is absent, added_tokens.json.
  std::vector<AddedToken> added_tokens;
  std::string added_tokens_origin;  ///< The file, for messages.

  /// Texts of the tokens that tokenizer_config.json and special_tokens_map.json name: `…_token`,
  /// `additional_special_tokens`, `extra_special_tokens`.
  std::unordered_set<std::string> named_tokens;
  std::string chat_templates;  ///< The text of all chat templates.

  /// Sets `escapable` of `token` if the token is special by its flag or by its name, or if a chat
  /// template contains its text. Tokens of white space are not escapable, because white space is
  /// ordinary text of a template.
  void MarkEscapable(AddedToken& token) const;
};

/// Reads tokenizer_config.json, added_tokens.json, special_tokens_map.json and the chat templates
/// of a model directory, all of which may be absent. Throws StartupError, one line that names the
/// file, if a file is malformed.
TokenizerConfig LoadTokenizerConfig(const std::filesystem::path& model_dir);

}  // namespace scorecast::coordinator
