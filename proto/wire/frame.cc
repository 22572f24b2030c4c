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

/// A frame without its message, which has `length` bytes, `written` of which will be appended.
std::string Header(std::size_t length, std::size_t written) {
  std::string frame;
  frame.reserve(kFrameHeaderBytes + written);
  AppendHeader(length, frame);
  return frame;
}

void Append(const google::protobuf::MessageLite& message, std::string& frame) {
  Check(message.AppendToString(&frame), "a message of ours can be serialised");
}

/// What stands before the value of a field that has `length` bytes.
std::string FieldHead(int field, std::size_t length) {
  using google::protobuf::internal::WireFormatLite;
  using google::protobuf::io::CodedOutputStream;
  Check(length <= std::numeric_limits<std::int32_t>::max(), "a message is shorter than 2 GiB");
  std::array<std::uint8_t, 16> head;
  std::uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), head.data());
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(length), end);
  return std::string(head.data(), end);
}

}  // namespace

std::string ToFrame(const google::protobuf::MessageLite& message) {
  const std::size_t length = message.ByteSizeLong();
  std::string frame = Header(length, length);
  Append(message, frame);
  return frame;
}

std::string ToFrame(const google::protobuf::MessageLite& rest, int field,
                    const google::protobuf::MessageLite& last) {
  return ToFrameBefore(rest, field, last, /*last_field=*/0, /*bytes=*/0);
}

std::string ToFrameBefore(const google::protobuf::MessageLite& rest, int field,
                          const google::protobuf::MessageLite& last, int last_field,
                          std::size_t bytes) {
  const std::string tail = bytes == 0 ? std::string() : FieldHead(last_field, bytes);
  const std::size_t last_bytes = last.ByteSizeLong() + tail.size();
  const std::string head = FieldHead(field, last_bytes + bytes);
  const std::size_t written = rest.ByteSizeLong() + head.size() + last_bytes;
  std::string frame = Header(written + bytes, written);
  Append(rest, frame);
  frame += head;
  Append(last, frame);
  frame += tail;
  return frame;
}

void AppendFrame(const google::protobuf::MessageLite& rest, std::string_view more,
                 std::string& frames) {
  AppendHeader(rest.ByteSizeLong() + more.size(), frames);
  Append(rest, frames);
  frames += more;
}

}  // namespace scorecast::proto
