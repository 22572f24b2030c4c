#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {

/// A file in memory that contains these bytes. It has no name in any directory.
class FileOfBytes {
 public:
  explicit FileOfBytes(std::span<const std::byte> bytes)
      : fd_(Write(bytes)), file_("/proc/self/fd/" + std::to_string(fd_)) {}
  ~FileOfBytes() { ::close(fd_); }
  FileOfBytes(const FileOfBytes&) = delete;
  FileOfBytes& operator=(const FileOfBytes&) = delete;

  const WeightFile& file() const { return file_; }

 private:
  static int Write(std::span<const std::byte> bytes) {
    const int fd = ::memfd_create("bytes", MFD_CLOEXEC);
    while (fd >= 0 && !bytes.empty()) {
      const ssize_t count = ::write(fd, bytes.data(), bytes.size());
      if (count <= 0) {
        std::abort();
      }
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return fd;
  }

  int fd_;
  WeightFile file_;
};

}  // namespace scorecast::shard
