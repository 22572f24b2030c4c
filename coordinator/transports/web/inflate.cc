#include "coordinator/transports/web/inflate.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/web/body_faults.h"

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

/// The largest window, and gzip or zlib, whichever the first bytes say.
constexpr int kWindowBits = 15 + 32;

/// Larger windows are refused: a client could make the server allocate up to 2 GiB by a few bytes.
/// RFC 8878 asks for 8 MiB.
constexpr int kMostWindowLog = 23;

/// A body that is being decompressed.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Writes up to `size` bytes and returns their number, which is less only at the end and at a
  /// fault.
  virtual std::size_t Next(char* to, std::size_t size) = 0;

  bool is_bad() const { return is_bad_; }
  /// What is wrong with the body; only if it is bad.
  std::string_view fault() const { return fault_; }

 protected:
  bool is_bad_ = false;
  std::string_view fault_ = "The body is not in the encoding that Content-Encoding names.";
};

/// gzip or zlib.
class ZlibStream : public Stream {
 public:
  explicit ZlibStream(std::string_view compressed) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    stream_.avail_in = static_cast<uInt>(compressed.size());
    if (inflateInit2(&stream_, kWindowBits) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~ZlibStream() override { inflateEnd(&stream_); }
  ZlibStream(const ZlibStream&) = delete;
  ZlibStream& operator=(const ZlibStream&) = delete;

  std::size_t Next(char* to, std::size_t size) override {
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

 private:
  z_stream stream_{};
  bool has_ended_ = false;
};

class ZstdStream : public Stream {
 public:
  explicit ZstdStream(std::string_view compressed)
      : in_{compressed.data(), compressed.size(), 0}, context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMostWindowLog);
  }
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  std::size_t Next(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos < size && !is_bad_) {
      const std::size_t read = in_.pos;
      const std::size_t written = out.pos;
      const std::size_t left = ZSTD_decompressStream(context_, &out, &in_);
      if (ZSTD_isError(left) != 0U) {
        is_bad_ = true;
        if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge) {
          fault_ = "The body's zstd window is larger than 8 MiB: compress it without --long.";
        }
      } else if (in_.pos == read && out.pos == written) {
        is_bad_ = !is_complete_;  // The input ends too early.
        break;
      } else {
        is_complete_ = left == 0;
      }
    }
    return out.pos;
  }

 private:
  ZSTD_inBuffer in_;
  ZSTD_DCtx* context_;
  bool is_complete_ = false;  ///< The last frame has ended.
};

std::unique_ptr<Stream> MakeStream(std::string_view compressed, ContentCoding coding) {
  if (coding == ContentCoding::kZstd) {
    return std::make_unique<ZstdStream>(compressed);
  }
  return std::make_unique<ZlibStream>(compressed);
}

}  // namespace

std::int64_t ClaimedBytes(std::string_view compressed, ContentCoding coding,
                          std::int64_t max_bytes) {
  constexpr std::size_t kLeastGzip = 18;  // Its header and its end.
  constexpr std::int64_t kGuess = 4;      // JSON is usually compressed to a quarter or less.
  const auto byte = [&](std::size_t at) {
    return static_cast<std::int64_t>(static_cast<unsigned char>(compressed[at]));
  };
  std::int64_t claimed = kGuess * static_cast<std::int64_t>(compressed.size());
  if (coding == ContentCoding::kZstd) {
    const unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
    if (size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR) {
      claimed =
          static_cast<std::int64_t>(std::min(size, static_cast<unsigned long long>(max_bytes)));
    }
  } else if (compressed.size() >= kLeastGzip && byte(0) == 0x1F && byte(1) == 0x8B) {
    claimed = 0;
    for (std::size_t i = 1; i <= 4; ++i) {
      claimed = claimed << 8 | byte(compressed.size() - i);
    }
  }
  // A piece that is not filled shows the end.
  constexpr auto kPiece = static_cast<std::int64_t>(kPieceBytes);
  return std::min((claimed / kPiece + 1) * kPiece, max_bytes + 1);
}

proto::Expected<HeldText> Inflate(std::string_view compressed, ContentCoding coding,
                                  std::int64_t max_bytes, HeldBytes& held, std::int64_t reserved) {
  if (compressed.size() > std::numeric_limits<uInt>::max()) {
    return proto::Unexpected(BodyTooLarge(max_bytes));
  }
  const std::unique_ptr<Stream> stream = MakeStream(compressed, coding);
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
    const std::size_t bytes = stream->Next(inflated.text.data() + have, piece);
    inflated.text.resize(have + bytes);
    if (stream->is_bad()) {
      return proto::Unexpected(
          BadRequest("bad_content_encoding", std::string(stream->fault()), "Content-Encoding"));
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
