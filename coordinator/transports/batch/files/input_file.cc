#include "coordinator/transports/batch/files/input_file.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "coordinator/transports/batch/files/file_bytes.h"

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

}  // namespace

InputFile::InputFile(const std::filesystem::path& path, std::int64_t max_line_bytes)
    : name_(path == "-" ? "standard input" : path.string()),
      max_line_bytes_(max_line_bytes),
      source_(OpenToRead(path), CompressionOfName(path)),
      buffer_(kBufferBytes) {}

InputFile::InputFile(std::unique_ptr<ByteSource> source, std::string name,
                     std::int64_t max_line_bytes)
    : name_(std::move(name)),
      max_line_bytes_(max_line_bytes),
      source_(std::move(source), CompressionOfName(name_)),
      buffer_(kBufferBytes) {}

InputFile::Result InputFile::Next(std::string& line) {
  line.clear();
  bool any = false;
  bool too_long = false;
  bool ended = false;
  while (!ended && Fill()) {
    any = true;
    const std::size_t newline = unread_.find('\n');
    ended = newline != std::string_view::npos;
    const std::string_view part = unread_.substr(0, newline);
    if (static_cast<std::int64_t>(part.size()) >
        max_line_bytes_ - static_cast<std::int64_t>(line.size())) {
      too_long = true;
      line.clear();
    }
    if (!too_long) {
      line += part;
    }
    Use(part.size() + (ended ? 1 : 0));
  }
  if (!any || !failure_.empty()) {
    return Result::kEnd;
  }
  ++line_number_;
  return too_long ? Result::kTooLong : Result::kLine;
}

bool InputFile::SkipTo(std::int64_t offset) {
  bool in_line = false;
  while (offset_ < offset && Fill()) {
    const std::string_view part = unread_.substr(
        0, static_cast<std::size_t>(std::min<std::int64_t>(offset - offset_, kBufferBytes)));
    line_number_ += std::count(part.begin(), part.end(), '\n');
    in_line = part.back() != '\n';
    Use(part.size());
  }
  line_number_ += in_line ? 1 : 0;
  return offset_ == offset;
}

std::int64_t InputFile::position() const {
  if (filled_ == 0) {
    return 0;
  }
  const double used = 1.0 - static_cast<double>(unread_.size()) / static_cast<double>(filled_);
  return position_before_ +
         static_cast<std::int64_t>(used *
                                   static_cast<double>(source_.file_bytes() - position_before_));
}

bool InputFile::Fill() {
  if (!unread_.empty()) {
    return true;
  }
  if (!failure_.empty()) {
    return false;
  }
  const std::int64_t position_before = source_.file_bytes();
  const auto read = source_.Read(std::span(buffer_));
  if (!read) {
    failure_ = "cannot read " + name_ + ": " + read.error();
    return false;
  }
  if (*read == 0) {
    return false;
  }
  position_before_ = position_before;
  filled_ = *read;
  unread_ = std::string_view(buffer_.data(), *read);
  return true;
}

void InputFile::Use(std::size_t bytes) {
  digest_.Add(std::as_bytes(std::span(unread_.substr(0, bytes))));
  offset_ += static_cast<std::int64_t>(bytes);
  unread_.remove_prefix(bytes);
}

}  // namespace scorecast::coordinator
