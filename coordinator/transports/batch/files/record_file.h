#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/transports/batch/files/byte_streams.h"
#include "coordinator/transports/batch/files/compression.h"
#include "coordinator/transports/batch/files/compressor.h"
#include "proto/base/digest.h"

namespace scorecast::coordinator {

/// A file of records, one a line, which is compressed if its name ends in `.gz` or `.zst`. Each
/// flush ends a gzip member or zstd frame, so that the file can be cut after any flush, and
/// records appended. Used by one thread.
class RecordFile {
 public:
  /// Opens a file, or makes it; "-" is standard output. What a file has is kept until BeginAt.
  /// Throws StartupError.
  explicit RecordFile(const std::filesystem::path& path);
  /// Writes to `sink`, under a name for messages.
  RecordFile(std::unique_ptr<ByteSink> sink, std::string name);

  /// Bytes that the file has now. Null if it is no regular file, which cannot be cut.
  std::optional<std::int64_t> present_bytes() const { return sink_->size(); }

  /// Cuts the file to its first `size` bytes, which have this digest; records follow behind them.
  /// To be called once, before the first record. Something that is no regular file can only begin
  /// at 0, and is not cut. Throws std::runtime_error, also if the file has fewer bytes.
  void BeginAt(std::int64_t size, const proto::Digest& digest = {});

  /// Appends a part of a record. Some bytes may be written before the next flush.
  void WritePart(std::string_view part);
  /// Ends a record that was appended in parts with a newline.
  void EndRecord() { WritePart("\n"); }
  /// Appends a whole record.
  void Write(std::string_view record) {
    WritePart(record);
    EndRecord();
  }
  /// Writes all records so far. Not called in the middle of one.
  void Flush();
  /// Flushes, and makes the records survive a crash of the host, as far as the file system can.
  void Sync();
  /// Like Sync, after the last record. A compressed file without records gets an empty member or
  /// frame, because an empty file is no compressed file.
  void Finish();

  /// Bytes of the file up to the last flush, as they are in the file.
  std::int64_t size() const { return size_; }
  /// Digest of these bytes.
  std::uint64_t digest() const { return digest_.value(); }
  /// Bytes of the records since the last flush, before they are compressed.
  std::int64_t unflushed_bytes() const { return unflushed_bytes_; }
  bool is_compressed() const { return compressor_ != nullptr; }

  /// Why records cannot be written any more, as one line; empty if they can. The file is then cut
  /// to size(), and all later calls do nothing.
  const std::string& failure() const { return failure_; }

 private:
  void WritePending();
  void Fail(const std::string& why);

  const std::string name_;
  const std::unique_ptr<ByteSink> sink_;
  const std::unique_ptr<Compressor> compressor_;  ///< Null for a plain file.
  std::string pending_;                           ///< Bytes of the file to be written.
  std::int64_t written_ = 0;                      ///< Bytes of the file that are written.
  proto::Digest written_digest_;                  ///< Of these.
  std::int64_t size_ = 0;
  proto::Digest digest_;
  std::int64_t unflushed_bytes_ = 0;
  std::string failure_;
};

}  // namespace scorecast::coordinator
