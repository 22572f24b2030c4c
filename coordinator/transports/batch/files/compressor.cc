#include "coordinator/transports/batch/files/compressor.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>

#include <zlib.h>
#include <zstd.h>

#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

class GzipCompressor : public Compressor {
 public:
  GzipCompressor() {
    constexpr int kGzipFormat = 15 + 16;  // The largest window, in gzip's format.
    constexpr int kDefaultMemory = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipFormat, kDefaultMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  void Add(std::string_view bytes, std::string& out) override {
    while (!bytes.empty()) {
      const std::size_t piece =
          std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(piece);
      Run(Z_NO_FLUSH, out);
      bytes.remove_prefix(piece);
    }
  }

  void End(std::string& out) override {
    stream_.avail_in = 0;
    Run(Z_FINISH, out);
    proto::Check(deflateReset(&stream_) == Z_OK, "a gzip stream can be reset");
  }

 private:
  void Run(int flush, std::string& out) {
    do {
      const std::size_t have = out.size();
      out.resize(have + kPieceBytes);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + have);
      stream_.avail_out = static_cast<uInt>(kPieceBytes);
      proto::Check(deflate(&stream_, flush) != Z_STREAM_ERROR, "a gzip stream is consistent");
      out.resize(have + kPieceBytes - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
};

class ZstdCompressor : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;

  void Add(std::string_view bytes, std::string& out) override { Run(bytes, ZSTD_e_continue, out); }
  void End(std::string& out) override { Run({}, ZSTD_e_end, out); }

 private:
  void Run(std::string_view bytes, ZSTD_EndDirective directive, std::string& out) {
    ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
    std::size_t left = 0;
    do {
      const std::size_t have = out.size();
      out.resize(have + kPieceBytes);
      ZSTD_outBuffer to{out.data() + have, kPieceBytes, 0};
      left = ZSTD_compressStream2(context_, &to, &from, directive);
      if (ZSTD_isError(left) != 0U) {
        throw std::bad_alloc();  // No other error is possible without parameters of ours.
      }
      out.resize(have + to.pos);
    } while (directive == ZSTD_e_end ? left > 0 : from.pos < from.size);
  }

  ZSTD_CCtx* context_;
};

}  // namespace

std::unique_ptr<Compressor> MakeCompressor(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipCompressor>();
    case Compression::kZstd:
      return std::make_unique<ZstdCompressor>();
    case Compression::kNone:
      break;
  }
  return nullptr;
}

}  // namespace scorecast::coordinator
