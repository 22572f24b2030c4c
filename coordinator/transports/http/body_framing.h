#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scorecast::coordinator {

/// Finds the body of a request among the bytes that follow its header, and its end: by a length, or
/// in chunks (RFC 9112, 7.1), whose extensions and trailers are checked and then ignored.
class BodyFraming {
 public:
  static BodyFraming OfLength(std::uint64_t length) { return BodyFraming(false, length); }
  static BodyFraming InChunks() { return BodyFraming(true, 0); }

  enum class State { kMore, kEnd, kBad };

  struct Piece {
    std::size_t consumed = 0;  ///< Bytes that are done with, including those of `body`.
    std::string_view body;     ///< May be empty.
  };

  /// Takes bytes from the front of `bytes`. If it consumes none, it needs more of them, but never
  /// more than kMaxLine, or has ended.
  Piece Take(std::string_view bytes);

  State state() const { return state_; }
  /// How many bytes of the body certainly follow those that were taken.
  std::uint64_t left() const { return left_; }

  /// Longest line of a chunk's size or of a trailer.
  static constexpr std::size_t kMaxLine = 4096;

 private:
  /// What the next bytes are.
  enum class Part { kBody, kBodyEnd, kSize, kTrailer };

  BodyFraming(bool in_chunks, std::uint64_t length);

  Piece TakeLine(std::string_view bytes);
  void ReadSize(std::string_view line);
  /// Counts bytes that are not the body's. Too many of them are a fault: a client could send a
  /// small body for hours.
  void CountExtra(std::size_t bytes);

  bool in_chunks_;
  Part part_;
  State state_ = State::kMore;
  std::uint64_t left_;  ///< Bytes of the body, or of the chunk.
  std::size_t extra_bytes_ = 0;
};

}  // namespace scorecast::coordinator
