#include "coordinator/transports/batch/line_reader.h"

#include <cstddef>

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

}  // namespace

LineReader::LineReader(std::istream& in, std::int64_t max_bytes)
    : in_(in), max_bytes_(max_bytes), buffer_(kBufferBytes) {}

LineReader::Result LineReader::Next(std::string& line) {
  line.clear();
  bool any = false;
  bool too_long = false;
  while (in_.good()) {
    in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    const bool ended = !in_.eof() && !in_.fail();  // A newline was read; gcount() counts it.
    const std::streamsize bytes = in_.gcount() - (ended ? 1 : 0);
    any = any || in_.gcount() > 0;
    if (bytes > max_bytes_ - static_cast<std::int64_t>(line.size())) {
      too_long = true;
      line.clear();
    }
    if (!too_long && bytes > 0) {
      line.append(buffer_.data(), static_cast<std::size_t>(bytes));
    }
    if (ended) {
      break;
    }
    if (in_.fail() && !in_.eof() && !in_.bad()) {
      in_.clear();  // The buffer is full and the line continues.
    }
  }
  if (!any || in_.bad()) {
    return Result::kEnd;
  }
  ++line_number_;
  return too_long ? Result::kTooLong : Result::kLine;
}

}  // namespace scorecast::coordinator
