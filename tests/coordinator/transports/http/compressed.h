#pragma once

#include <stdexcept>
#include <string>

#include <zlib.h>

namespace scorecast::coordinator {

enum class Format { kGzip, kZlib };

/// The text, compressed by zlib.
inline std::string Compressed(const std::string& text, Format format) {
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
