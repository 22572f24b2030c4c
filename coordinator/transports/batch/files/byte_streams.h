#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Bytes that are read from first to last: a file, or what is in a compressed one.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Waits until there is at least one byte, and reads up to `to.size()` of them. Returns their
  /// number, which is 0 only at the end, or why the bytes cannot be read.
  virtual proto::Expected<std::size_t, std::string> Read(std::span<char> to) = 0;

  /// Size of the whole, if it is known.
  virtual std::optional<std::int64_t> size() const { return std::nullopt; }
};

/// Where bytes are written. Each function returns why it failed; empty if it did not.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  virtual std::string Write(std::string_view bytes) = 0;
  /// Makes what was written survive a crash of the host, as far as the file system can.
  virtual std::string Sync() { return ""; }

  /// Size of the whole, if it can be cut.
  virtual std::optional<std::int64_t> size() const { return std::nullopt; }
  /// Drops all but the first `size` bytes, of `size()`. The next bytes are written behind them.
  virtual std::string CutTo(std::int64_t /*size*/) { return ""; }
};

}  // namespace scorecast::coordinator
