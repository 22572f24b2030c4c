#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "proto/model/config_fields.h"

namespace scorecast::proto {

/// sentence-transformers' sentence_bert_config.json, or the file that has its name in an old
/// directory (sentence_roberta_config.json, …): the first one that is not an empty object. Nullopt
/// if there is none. Throws StartupError if one cannot be read.
std::optional<std::filesystem::path> FindSentenceBertFile(const std::filesystem::path& model_dir);

/// Replaces fields of a config.json by the arguments in `config_kwargs` of that file (`config_args`
/// in old ones). As in sentence-transformers, it does not count without a modules.json. Returns how
/// messages name the result: `origin`, and the file if it has arguments. Throws StartupError if it
/// is malformed, or if an argument is not supported.
std::string ApplyConfigArguments(const std::filesystem::path& model_dir, const std::string& origin,
                                 Json& config);

}  // namespace scorecast::proto
