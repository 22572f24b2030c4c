#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {

/// What sentence-transformers' sentence_bert_config.json says of texts.
struct SentenceBertConfig {
  std::string origin;  ///< The file, for messages; empty if there is none.
  std::optional<std::int64_t> max_seq_length;
  bool do_lower_case = false;  ///< A text is made lower case before the tokenizer's normalizer.
};

/// Reads the file, which has other names in old directories (sentence_roberta_config.json, …).
/// Throws StartupError if it is malformed.
SentenceBertConfig LoadSentenceBertConfig(const std::filesystem::path& model_dir);

/// Puts the normalizer Lowercase before the normalizer of a tokenizer.json, unless one is there
/// already. A part that has an unexpected form stays, so that the reader of the part names the
/// fault.
void PutLowercaseFirst(nlohmann::json& document);

/// The most tokens that a text or a pair of the model has, those of the tokenizer's template
/// included: `max_seq_length` of sentence_bert_config.json, else `model_max_length` of
/// tokenizer_config.json, and never more than `usable_positions`, the positions that the model has.
/// Throws StartupError if one of the files is malformed.
std::int64_t ReadTokenLimit(const std::filesystem::path& model_dir, std::int64_t usable_positions);

}  // namespace scorecast::coordinator
