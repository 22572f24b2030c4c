#include "proto/wire/frame.h"

#include <limits>

#include "proto/base/check.h"

namespace scorecast::proto {

std::uint32_t FrameLength(const FrameHeader& header) {
  std::uint32_t length = 0;
  for (const unsigned char byte : header) {
    length = (length << 8U) | byte;
  }
  return length;
}

std::string ToFrame(const google::protobuf::MessageLite& message) {
  const std::size_t length = message.ByteSizeLong();
  Check(length <= std::numeric_limits<std::int32_t>::max(), "a message is shorter than 2 GiB");
  std::string frame(kFrameHeaderBytes, '\0');
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i) {
    frame[i] = static_cast<char>((length >> (8 * (kFrameHeaderBytes - 1 - i))) & 0xFFU);
  }
  Check(message.AppendToString(&frame), "a message of ours can be serialised");
  return frame;
}

}  // namespace scorecast::proto
