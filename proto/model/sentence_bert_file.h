#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "proto/model/config_fields.h"

namespace scorecast::proto {

/// sentence-transformers' sentence_bert_config.json, or the file that has its name in an old
/// directory (sentence_roberta_config.json, …): the first one that is not an empty object. Nullopt
/// if there is none.
std::optional<std::filesystem::path> FindSentenceBertFile(const std::filesystem::path& model_dir);

/// What that file says.
struct SentenceBertFile {
  std::filesystem::path path;
  Json root;  ///< An object.
};

/// Reads the file without the keys that CheckModelKeys refuses: a model that has one of them is
/// only loaded if --ignore-config-key names it. Throws StartupError if the file is malformed.
std::optional<SentenceBertFile> ReadSentenceBertFile(const std::filesystem::path& model_dir);

/// Arguments that count more than the fields of config.json.
struct ConfigArguments {
  std::string origin;            ///< For messages. Empty if there are none.
  Json fields = Json::object();  ///< Those that are followed.
};

/// Reads `config_kwargs` of sentence_bert_config.json (`config_args` in old ones). As in
/// sentence-transformers, it does not count without a modules.json. Throws StartupError if the file
/// is malformed.
ConfigArguments ReadConfigArguments(const std::filesystem::path& model_dir);

/// Replaces fields of a config.json.
void ApplyConfigArguments(const ConfigArguments& arguments, Json& config);

}  // namespace scorecast::proto
