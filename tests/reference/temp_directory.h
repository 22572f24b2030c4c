#pragma once

#include <filesystem>

namespace scorecast::reference {

/// A new directory of its own, removed with all that is in it at the end of its life.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace scorecast::reference
