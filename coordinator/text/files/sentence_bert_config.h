#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"

namespace scorecast::coordinator {

/// What sentence-transformers' sentence_bert_config.json says of the tokenizer.
struct SentenceBertConfig {
  std::string origin;  ///< The file, for messages; empty if there is none.
  nlohmann::json root = nlohmann::json::object();  ///< All of the file.
  /// Whether there is a modules.json. Without one, sentence-transformers does not read the file, of
  /// which only the next two members count then.
  bool is_of_modules = false;
  std::optional<std::int64_t> max_seq_length;
  bool do_lower_case = false;  ///< A text is made lower case before the tokenizer's normalizer.
  /// `processor_kwargs`, or `tokenizer_args` in old files: arguments with which the tokenizer is
  /// loaded. They count more than the members of tokenizer_config.json. An object.
  nlohmann::json processor_kwargs = nlohmann::json::object();
};

/// Reads the file as proto::ReadSentenceBertFile does. Throws StartupError if it is malformed.
SentenceBertConfig LoadSentenceBertConfig(const std::filesystem::path& model_dir);

/// A JSON file that has been read.
struct JsonFile {
  nlohmann::json root;
  std::string origin;  ///< For messages.
};

/// tokenizer_config.json, whose members are replaced by those of SentenceBertConfig's
/// `processor_kwargs`. Nullopt if neither is there. Throws StartupError if one is malformed.
std::optional<JsonFile> ReadTokenizerConfigFile(const std::filesystem::path& model_dir);

/// The number of tokens that a field gives: at least 1. transformers writes 1e30 for "unlimited",
/// which no integer holds. Throws StartupError.
std::int64_t ReadLength(const JsonCursor& length);

/// Puts the normalizer Lowercase before the normalizer of a tokenizer.json, unless one is there
/// already. A part that has an unexpected form stays, so that the reader of the part names the
/// fault.
void PutLowercaseFirst(nlohmann::json& document);

}  // namespace scorecast::coordinator
