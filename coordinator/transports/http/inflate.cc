#include "coordinator/transports/http/inflate.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include <zlib.h>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/http/body_faults.h"

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

/// The largest window, and gzip or zlib, whichever the first bytes say.
constexpr int kWindowBits = 15 + 32;

class Stream {
 public:
  explicit Stream(std::string_view compressed) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    stream_.avail_in = static_cast<uInt>(compressed.size());
    if (inflateInit2(&stream_, kWindowBits) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Stream() { inflateEnd(&stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Writes up to `size` bytes and returns their number. 0 at the end and at a fault.
  std::size_t Next(char* to, std::size_t size) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out > 0 && !has_ended_ && !is_bad_) {
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        // A gzip file may consist of several.
        has_ended_ = stream_.avail_in == 0 || inflateReset(&stream_) != Z_OK;
      } else if (result == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (result != Z_OK) {
        is_bad_ = true;  // Also if the input ends too early.
      }
    }
    return size - stream_.avail_out;
  }

  bool is_bad() const { return is_bad_; }

 private:
  z_stream stream_{};
  bool has_ended_ = false;
  bool is_bad_ = false;
};

}  // namespace

std::int64_t ClaimedBytes(std::string_view compressed, std::int64_t max_bytes) {
  constexpr std::size_t kLeastGzip = 18;  // Its header and its end.
  constexpr std::int64_t kGuess = 4;      // JSON is usually compressed to a quarter or less.
  const auto byte = [&](std::size_t at) {
    return static_cast<std::int64_t>(static_cast<unsigned char>(compressed[at]));
  };
  std::int64_t claimed = kGuess * static_cast<std::int64_t>(compressed.size());
  if (compressed.size() >= kLeastGzip && byte(0) == 0x1F && byte(1) == 0x8B) {
    claimed = 0;
    for (std::size_t i = 1; i <= 4; ++i) {
      claimed = claimed << 8 | byte(compressed.size() - i);
    }
  }
  // A piece that is not filled shows the end.
  constexpr auto kPiece = static_cast<std::int64_t>(kPieceBytes);
  return std::min((claimed / kPiece + 1) * kPiece, max_bytes + 1);
}

proto::Expected<HeldText> Inflate(std::string_view compressed, std::int64_t max_bytes,
                                  HeldBytes& held, std::int64_t reserved) {
  if (compressed.size() > std::numeric_limits<uInt>::max()) {
    return proto::Unexpected(BodyTooLarge(max_bytes));
  }
  Stream stream(compressed);
  HeldText inflated;
  for (;;) {
    const auto have = inflated.text.size();
    // One byte more than is allowed shows that there is more.
    const std::size_t piece = std::min(kPieceBytes, static_cast<std::size_t>(max_bytes) + 1 - have);
    const std::int64_t more = static_cast<std::int64_t>(have + piece) - reserved;
    if (more > 0) {
      Held room = held.TryHoldPart(static_cast<std::int64_t>(have),
                                   std::min(more, static_cast<std::int64_t>(piece)));
      if (room == nullptr) {
        return proto::Unexpected(Overloaded());
      }
      inflated.held.push_back(std::move(room));
    }
    inflated.text.resize(have + piece);
    const std::size_t bytes = stream.Next(inflated.text.data() + have, piece);
    inflated.text.resize(have + bytes);
    if (stream.is_bad()) {
      return proto::Unexpected(BadRequest(
          "bad_content_encoding", "The body is not in the encoding that Content-Encoding names.",
          "Content-Encoding"));
    }
    if (inflated.text.size() > static_cast<std::size_t>(max_bytes)) {
      return proto::Unexpected(BodyTooLarge(max_bytes));
    }
    if (bytes < piece) {
      return inflated;
    }
  }
}

}  // namespace scorecast::coordinator
