#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// The tokenizer of a directory, or null if the directory has none. All cases that a process runs
/// share it, because a real vocabulary takes a second to load.
inline const Tokenizer* LoadedTokenizer(const std::filesystem::path& directory) {
  static std::map<std::filesystem::path, std::unique_ptr<Tokenizer>> loaded;
  const auto [found, is_new] = loaded.try_emplace(directory);
  if (is_new) {
    found->second = LoadTokenizer(directory);
  }
  return found->second.get();
}

}  // namespace scorecast::coordinator
