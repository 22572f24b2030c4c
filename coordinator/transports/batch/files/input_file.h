#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/transports/batch/files/byte_streams.h"
#include "coordinator/transports/batch/files/decompressed_source.h"
#include "proto/base/digest.h"

namespace scorecast::coordinator {

/// The lines of a file, which may be compressed with gzip or zstd. Holds no line that is longer
/// than the limit. Waits for no more than the end of a line, so that a program that writes a line
/// and waits for its response gets it. Used by one thread.
class InputFile {
 public:
  enum class Result {
    kLine,     ///< `line` holds it, without its newline.
    kTooLong,  ///< The line was read to its end and dropped.
    kEnd,      ///< There is no further line, or the file cannot be read further: see failure().
  };

  /// Opens a file; "-" is standard input. A file that is named `.gz` or `.zst` must be one; others
  /// are decompressed if their first bytes say so. `max_line_bytes`: largest line, without its
  /// newline. Throws StartupError.
  InputFile(const std::filesystem::path& path, std::int64_t max_line_bytes);
  /// Reads `source`, under a name for messages.
  InputFile(std::unique_ptr<ByteSource> source, std::string name, std::int64_t max_line_bytes);

  /// Reads the next line. The last line needs no newline.
  Result Next(std::string& line);

  /// Reads, from where the last line ended, to `offset`. False if the file ends earlier, or cannot
  /// be read: see failure().
  bool SkipTo(std::int64_t offset);

  std::int64_t max_line_bytes() const { return max_line_bytes_; }
  /// Number of the line read last, from 1 on. If it was skipped, too.
  std::int64_t line_number() const { return line_number_; }
  /// Number of the file's bytes up to the end of the line read last, with its newline. Bytes of a
  /// compressed file are those that are in it.
  std::int64_t offset() const { return offset_; }
  /// Digest of these bytes.
  std::uint64_t digest() const { return digest_.value(); }

  /// Roughly how many bytes the file itself takes up to there, of size(). Equal to offset() if the
  /// file is plain.
  std::int64_t position() const;
  /// Size of the file itself when it was opened. Null if it is no regular file.
  std::optional<std::int64_t> size() const { return source_.size(); }

  /// Why the file cannot be read further, as one line; empty if it can.
  const std::string& failure() const { return failure_; }

 private:
  /// Reads the next bytes if all are used. False at the end, and at a failure.
  bool Fill();
  /// Removes bytes from the front of those that are unread, and counts them.
  void Use(std::size_t bytes);

  const std::string name_;
  const std::int64_t max_line_bytes_;
  DecompressedSource source_;
  std::vector<char> buffer_;
  std::string_view unread_;           ///< Part of the buffer.
  std::size_t filled_ = 0;            ///< Bytes that the last Fill read.
  std::int64_t position_before_ = 0;  ///< The source's file_bytes() before the last Fill.
  std::int64_t line_number_ = 0;
  std::int64_t offset_ = 0;
  proto::Digest digest_;
  std::string failure_;
};

}  // namespace scorecast::coordinator
