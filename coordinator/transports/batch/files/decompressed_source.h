#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/transports/batch/files/byte_streams.h"
#include "coordinator/transports/batch/files/compression.h"

namespace scorecast::coordinator {

/// One compressed format. It goes through any number of members or frames.
class Decompressor {
 public:
  virtual ~Decompressor() = default;

  /// Reads bytes from the front of `from`, which it removes, and writes others to `to`. Returns
  /// how many it wrote, or what is wrong with the bytes.
  virtual proto::Expected<std::size_t, std::string> Run(std::string_view& from,
                                                        std::span<char> to) = 0;
  /// Whether the bytes so far end with a member or frame.
  virtual bool is_complete() const = 0;
};

/// The bytes in a plain, gzip or zstd file, whichever its first bytes say. Nothing is read before
/// the first call of Read.
class DecompressedSource : public ByteSource {
 public:
  /// If `named` is not kNone, a file of any other kind is a fault.
  DecompressedSource(std::unique_ptr<ByteSource> file, Compression named);

  proto::Expected<std::size_t, std::string> Read(std::span<char> to) override;
  /// Of the file.
  std::optional<std::int64_t> size() const override { return file_->size(); }

  /// How many bytes of the file the bytes read so far took.
  std::int64_t file_bytes() const {
    return file_bytes_ - static_cast<std::int64_t>(unread_.size());
  }

 private:
  /// Reads the next bytes of the file behind those that are unread. Returns their number.
  proto::Expected<std::size_t, std::string> Fill();
  /// Reads until it is clear what the file is. Returns what is wrong, or nothing.
  std::string FindCompression();

  const std::unique_ptr<ByteSource> file_;
  const Compression named_;
  std::vector<char> buffer_;
  std::string_view unread_;  ///< Part of the buffer.
  std::int64_t file_bytes_ = 0;
  bool is_compression_known_ = false;
  std::unique_ptr<Decompressor> decompressor_;  ///< Null for a plain file.
};

}  // namespace scorecast::coordinator
