#include "coordinator/transports/batch/files/decompressed_source.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

constexpr std::size_t kCompressedBufferBytes = std::size_t{64} << 10;

class GzipDecompressor : public Decompressor {
 public:
  GzipDecompressor() {
    constexpr int kGzipFormat = 15 + 16;  // The largest window, in gzip's format.
    if (inflateInit2(&stream_, kGzipFormat) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipDecompressor() override { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  Expected<std::size_t, std::string> Run(std::string_view& from, std::span<char> to) override {
    if (is_complete_) {
      // gzip pads files with zeros, for example on tapes.
      from.remove_prefix(std::min(from.find_first_not_of('\0'), from.size()));
      if (from.empty()) {
        return 0;
      }
      inflateReset(&stream_);
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out =
        static_cast<uInt>(std::min<std::size_t>(to.size(), std::numeric_limits<uInt>::max()));
    const uInt room = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    }
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return Unexpected(std::string("its gzip data is damaged: ") +
                        (stream_.msg == nullptr ? "it needs a dictionary" : stream_.msg));
    }
    is_complete_ = result == Z_STREAM_END;
    from.remove_prefix(from.size() - stream_.avail_in);
    return room - stream_.avail_out;
  }

  bool is_complete() const override { return is_complete_; }

 private:
  z_stream stream_{};
  bool is_complete_ = false;
};

/// zstd's own limit for windows, those of `zstd --long=27`.
constexpr int kMostWindowLog = 27;

/// The bytes of the window that a frame needs, of the first bytes of its header (RFC
/// 8878, 3.1.1.1). 0 if there are too few of them. A frame without a window needs its content's
/// size.
std::uint64_t WindowBytes(std::string_view header) {
  const auto byte = [&](std::size_t i) {
    return std::uint64_t{static_cast<unsigned char>(header[i])};
  };
  const auto number = [&](std::size_t first, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes && first + i < header.size(); ++i) {
      value |= byte(first + i) << (8 * i);
    }
    return value;
  };
  constexpr std::size_t kMagicBytes = 4;
  if (header.size() < kMagicBytes + 2) {
    return 0;
  }
  const std::uint64_t descriptor = byte(kMagicBytes);
  if ((descriptor & 0x20U) == 0) {
    const std::uint64_t window = byte(kMagicBytes + 1);
    const std::uint64_t base = std::uint64_t{1} << (10 + (window >> 3U));
    return base + base / 8 * (window & 7U);
  }
  constexpr std::array<std::size_t, 4> kIdBytes = {0, 1, 2, 4};
  constexpr std::array<std::size_t, 4> kSizeBytes = {1, 2, 4, 8};
  const std::size_t size_bytes = kSizeBytes[descriptor >> 6U];
  return number(kMagicBytes + 1 + kIdBytes[descriptor & 3U], size_bytes) +
         (size_bytes == 2 ? 256 : 0);
}

std::string WindowTooLarge(std::string_view header) {
  const std::uint64_t bytes = WindowBytes(header);
  return "its zstd window is too large: " +
         (bytes == 0 ? "more than" : std::to_string(bytes) + " >") + " " +
         std::to_string(std::uint64_t{1} << kMostWindowLog) +
         " bytes; compress it with --long=" + std::to_string(kMostWindowLog) + " or less";
}

class ZstdDecompressor : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMostWindowLog);
  }
  ~ZstdDecompressor() override { ZSTD_freeDCtx(context_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  Expected<std::size_t, std::string> Run(std::string_view& from, std::span<char> to) override {
    if (is_complete_) {
      header_.clear();
    }
    // The header of a frame may come in pieces.
    header_ += from.substr(0, kMostHeaderBytes - std::min(kMostHeaderBytes, header_.size()));
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context_, &out, &in);
    if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge) {
      return Unexpected(WindowTooLarge(header_));
    }
    if (ZSTD_isError(left) != 0U) {
      return Unexpected(std::string("its zstd data is damaged: ") + ZSTD_getErrorName(left));
    }
    // Without input and output, the answer is about the next frame.
    if (in.pos > 0 || out.pos > 0) {
      is_complete_ = left == 0;
    }
    from.remove_prefix(in.pos);
    return out.pos;
  }

  bool is_complete() const override { return is_complete_; }

 private:
  static constexpr std::size_t kMostHeaderBytes = 18;

  ZSTD_DCtx* context_;
  bool is_complete_ = false;
  std::string header_;  ///< The first bytes of the frame.
};

std::unique_ptr<Decompressor> MakeDecompressor(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipDecompressor>();
    case Compression::kZstd:
      return std::make_unique<ZstdDecompressor>();
    case Compression::kNone:
      break;
  }
  return nullptr;
}

}  // namespace

DecompressedSource::DecompressedSource(std::unique_ptr<ByteSource> file, Compression named)
    : file_(std::move(file)),
      named_(named),
      buffer_(kCompressedBufferBytes),
      unread_(buffer_.data(), 0) {}

Expected<std::size_t, std::string> DecompressedSource::Fill() {
  std::memmove(buffer_.data(), unread_.data(), unread_.size());
  const auto read = file_->Read(std::span(buffer_).subspan(unread_.size()));
  if (!read) {
    return read;
  }
  file_bytes_ += static_cast<std::int64_t>(*read);
  unread_ = std::string_view(buffer_.data(), unread_.size() + *read);
  return *read;
}

std::string DecompressedSource::FindCompression() {
  auto found = CompressionOfBytes(unread_);
  while (!found) {
    const auto filled = Fill();
    if (!filled) {
      return filled.error();
    }
    found = *filled == 0 ? Compression::kNone : CompressionOfBytes(unread_);
  }
  if (named_ != Compression::kNone && *found != named_) {
    return "it is no " + std::string(NameOf(named_)) + " file, although its name says so";
  }
  decompressor_ = MakeDecompressor(*found);
  is_compression_known_ = true;
  return "";
}

Expected<std::size_t, std::string> DecompressedSource::Read(std::span<char> to) {
  if (!is_compression_known_) {
    std::string fault = FindCompression();
    if (!fault.empty()) {
      return Unexpected(std::move(fault));
    }
  }
  bool has_ended = false;
  for (;;) {
    if (decompressor_ != nullptr) {
      // The decompressor may also hold bytes that did not fit the last time. A member or frame
      // that gives no bytes leaves those of the next one unread.
      const std::size_t unread_before = unread_.size();
      const auto written = decompressor_->Run(unread_, to);
      if (!written || *written > 0) {
        return written;
      }
      if (!unread_.empty() && unread_.size() < unread_before) {
        continue;
      }
    } else if (!unread_.empty()) {
      const std::size_t bytes = unread_.copy(to.data(), to.size());
      unread_.remove_prefix(bytes);
      return bytes;
    }
    if (has_ended) {
      if (decompressor_ != nullptr && !decompressor_->is_complete()) {
        return Unexpected(std::string("its compressed data ends too early"));
      }
      return 0;
    }
    const auto filled = Fill();
    if (!filled) {
      return filled;
    }
    has_ended = *filled == 0;
  }
}

}  // namespace scorecast::coordinator
