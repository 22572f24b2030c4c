#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include <sys/stat.h>

namespace scorecast::proto {

/// Whether `path` exists. A symbolic link exists even if its target does not, so that a missing
/// target is an error and not an absent file. Throws StartupError if that cannot be determined.
bool FileExists(const std::filesystem::path& path);

/// A regular file, or a symbolic link to one, that is open for reading.
class RegularFile {
 public:
  /// Never waits. Throws StartupError, one line that names the file, if it cannot be opened or is a
  /// directory, FIFO, socket or device.
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  /// The path as one line, for messages.
  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_; }
  /// The file's status when it was opened.
  const struct stat& status() const { return status_; }

 private:
  std::string name_;
  int descriptor_ = -1;
  struct stat status_ {};
};

/// The bytes of a regular file. Throws StartupError, one line that names the file, if it is no
/// regular file, if it has more than `most_bytes`, or if it cannot be read.
std::string ReadRegularFile(const std::filesystem::path& path,
                            std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());

}  // namespace scorecast::proto
