#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace scorecast::shard {

/// A whole file mapped for reading. Pages are read when they are first touched.
class MappedFile {
 public:
  /// Throws StartupError where `path` is no regular file or cannot be mapped.
  static MappedFile Open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Valid for as long as this object, moved or not, lives. Empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Lets go of the pages that `range`, a part of bytes(), touches, so that they no longer count as
  /// this process's memory. What is touched again is read again.
  void Release(std::span<const std::byte> range) const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace scorecast::shard
