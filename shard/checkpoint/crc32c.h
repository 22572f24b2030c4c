#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scorecast::shard {

// CRC-32C, the checksum of iSCSI (RFC 3720), of bytes whose parts are read in any order and by any
// process. Its remainder is linear: that of the whole is the XOR of those of its parts, each with
// zeros in the place of all the others. Zeros in front of a part do not change its remainder.

/// The remainder of bytes behind others, whose remainder is `before` (0: behind none).
std::uint32_t CrcRemainder(std::uint32_t before, std::span<const std::byte> bytes);

/// The remainder of bytes and `zeros` zeros behind them.
std::uint32_t WithZerosBehind(std::uint32_t remainder, std::int64_t zeros);

/// The CRC-32C of `size` bytes that have this remainder.
std::uint32_t Crc32cOfRemainder(std::uint32_t remainder, std::int64_t size);

}  // namespace scorecast::shard
