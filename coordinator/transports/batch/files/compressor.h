#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "coordinator/transports/batch/files/compression.h"

namespace scorecast::coordinator {

/// Compresses bytes to one gzip member or zstd frame after another. Any number of them, one behind
/// the other, is a valid file.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Compresses `bytes` and appends to `out` what is ready.
  virtual void Add(std::string_view bytes, std::string& out) = 0;
  /// Ends the member or frame and appends the rest of it to `out`. The next bytes begin another.
  virtual void End(std::string& out) = 0;
};

/// Null without compression. Throws std::bad_alloc.
std::unique_ptr<Compressor> MakeCompressor(Compression compression);

}  // namespace scorecast::coordinator
