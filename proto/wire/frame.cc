#include "proto/wire/frame.h"

#include <array>
#include <limits>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "proto/base/check.h"

namespace scorecast::proto {

std::uint32_t FrameLength(const FrameHeader& header) {
  std::uint32_t length = 0;
  for (const unsigned char byte : header) {
    length = (length << 8U) | byte;
  }
  return length;
}

namespace {

/// Appends the header of a message of `length` bytes.
void AppendHeader(std::size_t length, std::string& frame) {
  Check(length <= std::numeric_limits<std::int32_t>::max(), "a message is shorter than 2 GiB");
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i) {
    frame += static_cast<char>((length >> (8 * (kFrameHeaderBytes - 1 - i))) & 0xFFU);
  }
}

/// A frame without its message, which has `length` bytes.
std::string Header(std::size_t length) {
  std::string frame;
  frame.reserve(kFrameHeaderBytes + length);
  AppendHeader(length, frame);
  return frame;
}

void Append(const google::protobuf::MessageLite& message, std::string& frame) {
  Check(message.AppendToString(&frame), "a message of ours can be serialised");
}

}  // namespace

std::string ToFrame(const google::protobuf::MessageLite& message) {
  std::string frame = Header(message.ByteSizeLong());
  Append(message, frame);
  return frame;
}

std::string ToFrame(const google::protobuf::MessageLite& rest, int field,
                    const google::protobuf::MessageLite& last) {
  using google::protobuf::internal::WireFormatLite;
  using google::protobuf::io::CodedOutputStream;
  const std::size_t length = last.ByteSizeLong();
  Check(length <= std::numeric_limits<std::int32_t>::max(), "a message is shorter than 2 GiB");
  std::array<std::uint8_t, 16> head;
  std::uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), head.data());
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(length), end);
  std::string frame =
      Header(rest.ByteSizeLong() + static_cast<std::size_t>(end - head.data()) + length);
  Append(rest, frame);
  frame.append(head.data(), end);
  Append(last, frame);
  return frame;
}

void AppendFrame(const google::protobuf::MessageLite& rest, std::string_view more,
                 std::string& frames) {
  AppendHeader(rest.ByteSizeLong() + more.size(), frames);
  Append(rest, frames);
  frames += more;
}

}  // namespace scorecast::proto
