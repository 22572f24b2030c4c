#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace scorecast::coordinator {

/// Reads the lines of a stream, and holds none that is longer than the limit. Reads no further than
/// the end of a line, so that a program that writes a line and waits for its response gets it.
class LineReader {
 public:
  enum class Result {
    kLine,     ///< `line` holds it, without its newline.
    kTooLong,  ///< The line was read to its end and dropped.
    kEnd,      ///< There is no further line, or the stream is broken: see std::istream::bad.
  };

  /// `max_bytes`: largest line, without its newline.
  LineReader(std::istream& in, std::int64_t max_bytes);

  /// Reads the next line. The last line needs no newline.
  Result Next(std::string& line);

  /// Number of the line read last, from 1 on.
  std::int64_t line_number() const { return line_number_; }

 private:
  std::istream& in_;
  std::int64_t max_bytes_;
  std::int64_t line_number_ = 0;
  std::vector<char> buffer_;
};

}  // namespace scorecast::coordinator
