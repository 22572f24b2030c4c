#pragma once

#include <filesystem>

namespace scorecast::coordinator {

/// Keeps other runs away from an output. The lock is on a file beside it, OUTPUT.lock, and ends
/// with the process that holds it, however that ends. The file is removed with the lock.
class OutputLock {
 public:
  /// Throws StartupError if another process holds the lock, or if the file cannot be made. A file
  /// system may have no locks; then a warning says so.
  explicit OutputLock(const std::filesystem::path& output);
  ~OutputLock();
  /// Throws StartupError as the constructor would, but makes and locks no file.
  static void CheckFree(const std::filesystem::path& output);
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  const std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace scorecast::coordinator
