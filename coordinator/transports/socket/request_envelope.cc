#include "coordinator/transports/socket/request_envelope.h"

#include <limits>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// Bounds the time of looking for what stands beside the endpoint's message. Libraries write each
/// of these fields once.
constexpr int kMaxFields = 64;
/// It has up to 20 for each completion of a stream that another server has begun.
constexpr std::uint32_t kMaxForwardedBytes = 16384;
/// Headers of HTTP requests have at most 32 KiB.
constexpr std::size_t kMaxHttpRestBytes = std::size_t{48} << 10;

constexpr std::uint32_t kIdTag =
    WireFormatLite::MakeTag(v1::Request::kRequestIdFieldNumber, WireFormatLite::WIRETYPE_VARINT);

constexpr std::uint32_t DelimitedTag(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

/// Calls `read` with the tag of each field up to the end of the message. False at a fault, or if it
/// returns false. What follows the first kMaxFields fields is not read.
template <typename Read>
bool ReadFields(CodedInputStream& in, const Read& read) {
  for (int field = 0; field < kMaxFields; ++field) {
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) {
      return in.ConsumedEntireMessage();
    }
    // Our messages have no groups, and to skip one would be to skip all fields in it.
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_START_GROUP || !read(tag)) {
      return false;
    }
  }
  return true;
}

/// Reads a v1::Forwarded. One that is too long is read as an empty one, which has a fault.
bool ReadForwardedBytes(CodedInputStream& in, std::string& forwarded) {
  std::uint32_t length = 0;
  if (!in.ReadVarint32(&length)) {
    return false;
  }
  forwarded.clear();
  return length > kMaxForwardedBytes
             ? length <= std::numeric_limits<int>::max() && in.Skip(static_cast<int>(length))
             : in.ReadString(&forwarded, static_cast<int>(length));
}

/// Reads a v1::HttpRequest. Of several, the fields of the later ones count, as in messages.
bool ReadHttp(CodedInputStream& in, const std::string& message, HttpEnvelope& http) {
  int length = 0;
  if (!in.ReadVarintSizeAsInt(&length) ||
      static_cast<std::size_t>(length) >
          message.size() - static_cast<std::size_t>(in.CurrentPosition())) {
    return false;
  }
  const int end = in.CurrentPosition() + length;
  const CodedInputStream::Limit limit = in.PushLimit(length);
  int begin = in.CurrentPosition();
  const bool is_read = ReadFields(in, [&](std::uint32_t tag) {
    if (tag == DelimitedTag(v1::HttpRequest::kBodyFieldNumber)) {
      int size = 0;
      if (!in.ReadVarintSizeAsInt(&size)) {
        return false;
      }
      http.body_begin = static_cast<std::size_t>(in.CurrentPosition());
      http.body_size = static_cast<std::size_t>(size);
      const bool is_there = in.Skip(size);
      begin = in.CurrentPosition();
      return is_there;
    }
    if (!WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
    const auto bytes = static_cast<std::size_t>(in.CurrentPosition() - begin);
    if (http.rest.size() + bytes > kMaxHttpRestBytes) {
      return false;
    }
    http.rest.append(message, static_cast<std::size_t>(begin), bytes);
    begin = in.CurrentPosition();
    return true;
  });
  in.PopLimit(limit);
  return is_read && in.CurrentPosition() == end;
}

}  // namespace

RequestEnvelope EnvelopeOf(const std::string& message) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                      static_cast<int>(message.size()));
  RequestEnvelope envelope;
  const bool is_read = ReadFields(in, [&](std::uint32_t tag) {
    switch (tag) {
      case kIdTag:
        return in.ReadVarint64(&envelope.request_id);
      case DelimitedTag(v1::Request::kForwardedFieldNumber):
        return ReadForwardedBytes(in, envelope.forwarded.emplace());
      case DelimitedTag(v1::Request::kHttpFieldNumber):
        if (!envelope.http) {
          envelope.http.emplace();
        }
        return ReadHttp(in, message, *envelope.http);
      default:
        return WireFormatLite::SkipField(&in, tag);
    }
  });
  // Nothing else reads the fields that follow those of an HTTP request.
  if (!is_read || (envelope.http && !in.ConsumedEntireMessage())) {
    envelope.http.reset();
  }
  return envelope;
}

std::uint64_t RequestIdIn(std::string_view beginning) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(beginning.data()),
                      static_cast<int>(beginning.size()));
  std::uint64_t id = 0;
  ReadFields(in, [&](std::uint32_t tag) {
    return tag == kIdTag ? in.ReadVarint64(&id) : WireFormatLite::SkipField(&in, tag);
  });
  return id;
}

}  // namespace scorecast::coordinator
