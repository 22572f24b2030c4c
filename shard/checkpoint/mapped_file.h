#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace scorecast::shard {

/// A whole file mapped for reading. Its pages are read when they are first touched.
class MappedFile {
 public:
  /// Throws StartupError if `path` is not a regular file or cannot be mapped.
  static MappedFile Open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Valid while this object, moved or not, lives. Empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Releases the memory pages that `range`, a part of bytes(), touches, so that they no longer
  /// count as memory of this process. They are read again if touched again.
  void Release(std::span<const std::byte> range) const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace scorecast::shard
