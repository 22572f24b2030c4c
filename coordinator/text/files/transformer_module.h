#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scorecast::coordinator {

/// How texts become messages that the model's chat template renders.
struct MessageRules {
  enum class Format {
    kAuto,        ///< What the template's text looks like: see ChatTemplate::looks_for_parts.
    kFlat,        ///< A content is a text.
    kStructured,  ///< A content is a list, whose only part has the text.
  };

  Format format = Format::kAuto;
  bool add_generation_prompt = false;
  bool continue_final_message = false;
  /// Whether a conversation that is cut gets the template's last tokens back.
  bool restores_suffix = true;
  /// Further variables of the template, by name, with their values as JSON.
  std::vector<std::pair<std::string, std::string>> arguments;
};

/// How sentence-transformers' module Transformer makes tokens of texts: what the rest of
/// sentence_bert_config.json says.
struct TransformerModule {
  std::string origin;                       ///< The file, for messages; empty if there is none.
  std::string task = "feature-extraction";  ///< `transformer_task`.
  std::optional<MessageRules> messages;     ///< Set if texts are messages.
  bool adds_tokens = true;  ///< Whether the tokenizer puts its own tokens around a text or a pair.
  /// How a text or a pair is cut that is too long: "longest_first", "only_first" or "only_second".
  /// Empty if it is not cut.
  std::string truncation = "longest_first";
  std::optional<std::int64_t> max_length;  ///< Most tokens; nullopt: the tokenizer's limit.
  // Most tokens of a text that searches or is found, in the place of the limit of others. Absent if
  // `max_length` counts for them, too.

  std::optional<std::int64_t> query_length;
  std::optional<std::int64_t> document_length;
};

/// TransformerModule::task alone.
std::string TaskOfModule(const std::filesystem::path& model_dir);

/// Reads sentence_bert_config.json as proto::ReadSentenceBertFile does. All is as by default if
/// there is none, or no modules.json. Throws StartupError if the file is malformed, or if its
/// members together say something that is not supported.
TransformerModule ReadTransformerModule(const std::filesystem::path& model_dir);

/// The most tokens that a text or a pair of the model has, the tokenizer's own included:
/// TransformerModule::max_length, else `max_seq_length` of sentence_bert_config.json, else
/// `model_max_length` of tokenizer_config.json, and never more than `usable_positions`, the
/// positions that the model has. Throws StartupError if one of the files is malformed.
std::int64_t ReadTokenLimit(const std::filesystem::path& model_dir, std::int64_t usable_positions);

}  // namespace scorecast::coordinator
