#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "coordinator/text/files/tokenizer_class.h"
#include "coordinator/text/steps/added_tokens.h"
#include "coordinator/text/steps/encode_options.h"

namespace scorecast::coordinator {

/// A special token that a file names.
struct NamedSpecialToken {
  std::string origin;  ///< "<file>: <key>", for messages.
  AddedToken token;    ///< Its id is not known.
};

/// What the files beside a tokenizer.json or tokenizer.model say about it.
struct TokenizerConfig {
  std::string origin;  ///< tokenizer_config.json, for messages.
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<bool> add_prefix_space;
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;

  TokenizerClass tokenizer_class;
  /// The switches of BERT's classes, if tokenizer_config.json has them.
  std::optional<bool> do_lower_case;
  std::optional<bool> strip_accents;
  std::optional<bool> tokenize_chinese_chars;
  std::optional<TruncationSide> truncation_side;
  /// Whether special tokens in a text are plain text.
  bool split_special_tokens = false;
  /// Whether `model_input_names` has `token_type_ids`; absent if that is absent.
  std::optional<bool> model_input_types;

  /// `added_tokens_decoder` or, if it is absent, added_tokens.json.
  std::vector<AddedToken> added_tokens;
  std::string added_tokens_origin;  ///< The file, for messages.

  /// Texts of the tokens that tokenizer_config.json and special_tokens_map.json name: `…_token`,
  /// `additional_special_tokens`, `extra_special_tokens`.
  std::unordered_set<std::string> named_tokens;
  /// The same tokens in the order in which transformers adds those that the tokenizer lacks. Those
  /// of special_tokens_map.json are not among them if there is an `added_tokens_decoder`.
  std::vector<NamedSpecialToken> special_tokens;
  /// The number of tokens that the model has. A special token that gets an id beyond is refused.
  std::int64_t embedding_rows = std::numeric_limits<std::int64_t>::max();
  std::string chat_templates;  ///< The text of all chat templates.

  /// Whether the model gets the types of tokens.
  bool GivesTokenTypes() const {
    return model_input_types.value_or(tokenizer_class.GivesTokenTypes());
  }

  /// Sets `escapable` of `token` if the token is special by its flag or by its name, or if a chat
  /// template contains its text. Tokens of white space are not escapable, because white space is
  /// ordinary text of a template.
  void MarkEscapable(AddedToken& token) const;
};

/// Reads tokenizer_config.json, added_tokens.json, special_tokens_map.json and the chat templates
/// of a model directory, all of which may be absent, and the names of config.json that decide the
/// tokenizer's class. Throws StartupError, one line that names the file, if a file other than
/// config.json is malformed.
TokenizerConfig LoadTokenizerConfig(const std::filesystem::path& model_dir);

}  // namespace scorecast::coordinator
