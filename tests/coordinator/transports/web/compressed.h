#pragma once

#include <stdexcept>
#include <string>

#include <zlib.h>
#include <zstd.h>

namespace scorecast::coordinator {

enum class Format { kGzip, kZlib, kZstd };

/// The text as a zstd frame. `window_log`: 0 is zstd's default; otherwise the frame does not say
/// how long the text is.
inline std::string CompressedByZstd(const std::string& text, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, window_log == 0 ? 1 : 0);
  std::string compressed(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_outBuffer out{compressed.data(), compressed.size(), 0};
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  if (window_log != 0) {
    // Otherwise the window is no larger than the text.
    ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  }
  const std::size_t left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  if (left != 0) {
    throw std::runtime_error("ZSTD_compressStream2");
  }
  compressed.resize(out.pos);
  return compressed;
}

inline std::string Compressed(const std::string& text, Format format) {
  if (format == Format::kZstd) {
    return CompressedByZstd(text);
  }
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, format == Format::kGzip ? 15 + 16 : 15,
                   8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string compressed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int result = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) {
    throw std::runtime_error("deflate");
  }
  return compressed;
}

}  // namespace scorecast::coordinator
