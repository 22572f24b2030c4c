#include "coordinator/transports/http/body_framing.h"

#include <algorithm>
#include <charconv>

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kMaxTrailerBytes = std::size_t{16} << 10;

}  // namespace

BodyFraming::BodyFraming(bool in_chunks, std::uint64_t length)
    : in_chunks_(in_chunks),
      part_(in_chunks ? Part::kSize : Part::kBody),
      state_(!in_chunks && length == 0 ? State::kEnd : State::kMore),
      left_(length) {}

BodyFraming::Piece BodyFraming::Take(std::string_view bytes) {
  if (state_ != State::kMore || bytes.empty()) {
    return {};
  }
  if (part_ != Part::kBody) {
    return TakeLine(bytes);
  }
  const std::string_view body = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
  left_ -= body.size();
  if (left_ == 0) {
    if (in_chunks_) {
      part_ = Part::kBodyEnd;
    } else {
      state_ = State::kEnd;
    }
  }
  return {body.size(), body};
}

BodyFraming::Piece BodyFraming::TakeLine(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxLine).find('\n');
  if (end == std::string_view::npos) {
    if (bytes.size() >= kMaxLine) {
      state_ = State::kBad;
    }
    return {};
  }
  // A line that ends without a carriage return may mean something else to a proxy.
  if (end == 0 || bytes[end - 1] != '\r') {
    state_ = State::kBad;
    return {};
  }
  const std::string_view line = bytes.substr(0, end - 1);
  if (part_ == Part::kBodyEnd) {
    part_ = Part::kSize;
    state_ = line.empty() ? State::kMore : State::kBad;
  } else if (part_ == Part::kSize) {
    ReadSize(line);
  } else if (line.empty()) {
    state_ = State::kEnd;
  } else if (trailer_bytes_ += line.size(); trailer_bytes_ > kMaxTrailerBytes) {
    state_ = State::kBad;
  }
  return {end + 1, {}};
}

void BodyFraming::ReadSize(std::string_view line) {
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data(), end, left_, 16);
  const bool is_size_alone = rest == end || *rest == ';' || *rest == ' ' || *rest == '\t';
  if (error != std::errc() || !is_size_alone) {
    left_ = 0;
    state_ = State::kBad;
    return;
  }
  part_ = left_ == 0 ? Part::kTrailer : Part::kBody;
}

}  // namespace scorecast::coordinator
