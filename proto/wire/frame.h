#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

namespace scorecast::proto {

/// The name of this protocol in the ALPN of TLS.
inline constexpr std::string_view kTlsProtocol = "scorecast";

/// The header of every message: the message's length in bytes, big-endian.
inline constexpr std::size_t kFrameHeaderBytes = 4;
using FrameHeader = std::array<unsigned char, kFrameHeaderBytes>;

std::uint32_t FrameLength(const FrameHeader& header);

/// Returns header and message. The message must be shorter than 2 GiB, protobuf's own limit
/// (Check).
std::string ToFrame(const google::protobuf::MessageLite& message);
/// The same, of a message whose last field, the `field`th, is `last`, and whose others are in
/// `rest`.
std::string ToFrame(const google::protobuf::MessageLite& rest, int field,
                    const google::protobuf::MessageLite& last);

/// What stands before the last `bytes` bytes of such a frame: they are the last field of `last`,
/// the `last_field`th, which holds bytes. Nothing of that field is written if there are none.
std::string ToFrameBefore(const google::protobuf::MessageLite& rest, int field,
                          const google::protobuf::MessageLite& last, int last_field,
                          std::size_t bytes);
/// Appends header and message, whose fields are those in `rest` and those in `more`, which are
/// serialised already.
void AppendFrame(const google::protobuf::MessageLite& rest, std::string_view more,
                 std::string& frames);

}  // namespace scorecast::proto
