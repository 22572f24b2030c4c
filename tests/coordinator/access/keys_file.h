#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "coordinator/access/api_keys.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {

inline constexpr char kAlice[] = "sk-alice-0123456789";
inline constexpr char kBob[] = "sk-bob-0123456789ab";

/// A file of keys in a directory of its own.
class KeysFile {
 public:
  explicit KeysFile(const std::string& text) { Write(text); }

  /// Replaces the file as editors do.
  void Write(const std::string& text) const {
    const std::filesystem::path next = directory_.path() / "next";
    std::ofstream(next, std::ios::binary) << text;
    std::filesystem::rename(next, path());
  }
  void Remove() const { std::filesystem::remove(path()); }

  std::filesystem::path path() const { return directory_.path() / "keys"; }
  std::shared_ptr<ApiKeys> Read() const { return std::make_shared<ApiKeys>(path()); }

  /// The lines of two keys.
  static std::string Alice(const std::string& limits = {}) {
    return std::string("alice ") + kAlice + " " + limits + "\n";
  }
  static std::string Bob() { return std::string("bob ") + kBob + "\n"; }

 private:
  const reference::TempDirectory directory_;
};

}  // namespace scorecast::coordinator
