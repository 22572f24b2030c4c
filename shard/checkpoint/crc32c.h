#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scorecast::shard {

// CRC-32C, the checksum of iSCSI (RFC 3720), of bytes whose parts may be read in any order and by
// any process. The remainder is linear: the remainder of the whole is the XOR of the remainders of
// its parts, each computed with zeros in place of all other parts. Leading zeros do not change a
// remainder.

/// The remainder of a text whose last part is `bytes`. `before` is the remainder of what comes
/// before them; 0 if nothing does.
std::uint32_t CrcRemainder(std::uint32_t before, std::span<const std::byte> bytes);

/// The remainder of a text after `zeros` zero bytes are appended to it.
std::uint32_t WithZerosBehind(std::uint32_t remainder, std::int64_t zeros);

/// The CRC-32C of `size` bytes that have this remainder.
std::uint32_t Crc32cOfRemainder(std::uint32_t remainder, std::int64_t size);

}  // namespace scorecast::shard
