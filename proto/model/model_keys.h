#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/model/ignored_key.h"
#include "proto/model/key_table.h"

namespace scorecast::proto {

/// A key of a file, and what becomes of it.
struct KeyEntry {
  std::string key;    ///< With its path, e.g. "processing_kwargs.text.max_length".
  std::string value;  ///< Shortened to one line.
  KeyUse use = KeyUse::kUnread;
  std::string why;  ///< Of kNoEffect and kRefused.
};

/// The keys of a file in a model's directory.
struct FileKeys {
  std::string file;   ///< Relative to the directory.
  std::string fault;  ///< Why its keys are not known. One line; empty if they are.
  std::vector<KeyEntry> entries;
};

/// Reads FILE:KEY. Throws StartupError if the text has another form.
IgnoredKey IgnoredKeyFromText(const std::string& text);

/// The keys of all files of a directory that have tables (key_tables.h). A file that cannot be read
/// or is malformed has a fault, and so has a config.json of no family.
std::vector<FileKeys> ReadModelKeys(const std::filesystem::path& model_dir);

/// Throws StartupError, one line that names the file and the key, if a key is refused that is not
/// `ignored`, if an ignored key is absent or is not refused, or if a file is malformed. The files
/// of a tokenizer are among those that are checked, but tokenizer.json and generation_config.json
/// are not. modules.json and the files of its modules are only checked if `has_modules`.
void CheckModelKeys(const std::filesystem::path& model_dir, std::string_view model_type,
                    bool has_modules, std::span<const IgnoredKey> ignored);

}  // namespace scorecast::proto
