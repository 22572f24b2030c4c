#include "coordinator/transports/http/body_framing.h"

#include <algorithm>
#include <charconv>

namespace scorecast::coordinator {
namespace {

/// Upper bound on what all extensions and trailers of a body have together.
constexpr std::size_t kMaxExtraBytes = std::size_t{16} << 10;
/// A line with a size has these many bytes without counting as extra ones.
constexpr std::size_t kPlainSizeBytes = 16;

/// A control character, such as a lone carriage return, may mean something else to a proxy.
bool HasControlCharacter(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

/// Whether nothing but an extension follows a size in its line.
bool IsExtension(std::string_view rest) {
  const std::size_t begin = rest.find_first_not_of(" \t");
  return (begin == std::string_view::npos || rest[begin] == ';') && !HasControlCharacter(rest);
}

/// Whether names of fields may have the character (RFC 9110, 5.6.2).
bool IsTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

/// Whether a line of the trailer is a field: a name, a colon and a value. A line that continues the
/// one before it (obs-fold) begins with a space, so it is none.
bool IsField(std::string_view line) {
  const std::size_t colon = line.find(':');
  return colon != 0 && colon != std::string_view::npos &&
         std::ranges::all_of(line.substr(0, colon), IsTokenCharacter) &&
         !HasControlCharacter(line.substr(colon));
}

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
  } else if (IsField(line)) {
    CountExtra(line.size());
  } else {
    state_ = State::kBad;
  }
  return {end + 1, {}};
}

void BodyFraming::ReadSize(std::string_view line) {
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data(), end, left_, 16);
  if (error != std::errc() || !IsExtension({rest, end})) {
    left_ = 0;
    state_ = State::kBad;
    return;
  }
  part_ = left_ == 0 ? Part::kTrailer : Part::kBody;
  CountExtra(line.size() - std::min(line.size(), kPlainSizeBytes));
}

void BodyFraming::CountExtra(std::size_t bytes) {
  extra_bytes_ += bytes;
  if (extra_bytes_ > kMaxExtraBytes) {
    state_ = State::kBad;
  }
}

}  // namespace scorecast::coordinator
