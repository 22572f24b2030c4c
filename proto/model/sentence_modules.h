#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "proto/model/read_head.h"

namespace scorecast::proto {

/// What the files say that sentence-transformers writes for an embedding model.
struct SentenceModules {
  /// Of modules.json, if it has a Pooling module: the pooling, its Dense and Normalize modules, and
  /// `truncate_dim` of config_sentence_transformers.json.
  std::optional<ReadHead> read_head;
  /// If there is no Pooling module: the type of a module that is not supported, if there is one.
  std::string unsupported;
};

/// Reads `model_dir`/modules.json, which may be absent, and the files of the modules that it names.
/// `hidden_size` is that of the model. Modules are known by the last part of their types, because
/// the versions of sentence-transformers differ in the others. Throws StartupError, one line that
/// names the file, if a file is malformed, or if the modules of an embedding model are not
/// supported.
SentenceModules ReadSentenceModules(const std::filesystem::path& model_dir,
                                    std::int64_t hidden_size);

}  // namespace scorecast::proto
