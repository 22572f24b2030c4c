#include "coordinator/transports/batch/files/decompressed_source.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include <zlib.h>
#include <zstd.h>

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

class ZstdDecompressor : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  ~ZstdDecompressor() override { ZSTD_freeDCtx(context_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  Expected<std::size_t, std::string> Run(std::string_view& from, std::span<char> to) override {
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context_, &out, &in);
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
  ZSTD_DCtx* context_;
  bool is_complete_ = false;
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
