#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

#include "proto/base/regular_file.h"

namespace scorecast::shard {

/// A file of weights was overwritten or truncated, or can no longer be read, while it is in use.
class FileChanged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file of weights that is open for reading. If it is renamed or deleted, this object keeps the
/// file that was opened. Reads may run on several threads.
class WeightFile {
 public:
  /// Throws StartupError if `path` is not a regular file or cannot be opened.
  explicit WeightFile(const std::filesystem::path& path) : file_(path) {}

  /// The path as one line, for messages.
  const std::string& name() const { return file_.name(); }
  /// Bytes of the file when it was opened.
  std::int64_t size() const { return static_cast<std::int64_t>(file_.status().st_size); }

  /// Is told of the bytes that are read.
  class Observer {
   public:
    virtual ~Observer() = default;
    /// Called on the thread that has read the bytes.
    virtual void Saw(std::int64_t offset, std::span<const std::byte> bytes) = 0;
  };
  /// From now on, `observer` is told of all reads; null: no observer. Not called while other
  /// threads read.
  void LetSee(Observer* observer) const { observer_ = observer; }

  /// Reads out.size() bytes at `offset`, within the file's size. Throws FileChanged if they are no
  /// longer there.
  void Read(std::int64_t offset, std::span<std::byte> out) const;

  /// Throws FileChanged if the file's size or time of modification has changed since it was opened.
  /// If a call returns, all bytes read before it are those of the file as it was opened.
  void CheckUnchanged() const;

  /// Tells the system that this part will be read soon.
  void Prefetch(std::int64_t offset, std::int64_t bytes) const;

 private:
  std::string TruncatedText() const;

  const proto::RegularFile file_;
  mutable Observer* observer_ = nullptr;  // Mutable, because its setters have the file as const.
};

}  // namespace scorecast::shard
