#include "coordinator/front/clients/passed_frame_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/request/request_error.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/error_message.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// More than this many fields of a request's outermost message are no request of any library.
constexpr int kMaxFields = 64;

/// Number of a field of this name and type in the message that a field of v1::Request has; 0 if it
/// has none.
int FieldNumberOf(const char* name, google::protobuf::FieldDescriptor::Type type, int field) {
  const auto& outer = *v1::Request::descriptor()->FindFieldByNumber(field);
  const auto* const found = outer.message_type()->FindFieldByName(name);
  return found != nullptr && !found->is_repeated() && found->type() == type ? found->number() : 0;
}

/// Reads one message, which an outermost field of a request has, up to its end. False at a fault.
bool ReadNamed(CodedInputStream& in, int field, NamedInRequest& named) {
  using google::protobuf::FieldDescriptor;
  const int model = FieldNumberOf("model", FieldDescriptor::TYPE_STRING, field);
  const int timeout = FieldNumberOf("timeout_ms", FieldDescriptor::TYPE_INT64, field);
  int length = 0;
  if (!in.ReadVarintSizeAsInt(&length)) {
    return false;
  }
  const CodedInputStream::Limit limit = in.PushLimit(length);
  while (const std::uint32_t tag = in.ReadTag()) {
    const int inner = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    bool is_read = false;
    if (inner == model && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      is_read = WireFormatLite::ReadString(&in, &named.model);
    } else if (inner == timeout && type == WireFormatLite::WIRETYPE_VARINT) {
      std::uint64_t value = 0;
      is_read = in.ReadVarint64(&value);
      named.timeout_ms = static_cast<std::int64_t>(value);
    } else {
      is_read = WireFormatLite::SkipField(&in, tag);
    }
    if (!is_read) {
      return false;
    }
  }
  const bool is_whole = in.ConsumedEntireMessage();
  in.PopLimit(limit);
  return is_whole;
}

/// What becomes of a field of a client's v1::Request.
enum class Fate {
  kPassed,   ///< It is a request to an endpoint.
  kDropped,  ///< The front writes another one, or nobody knows it.
  kRefused,  ///< It is about a connection, which would be that of the front and not of the client.
};

Fate FateOf(int field) {
  if (field != 0 && std::ranges::any_of(Endpoints(), [&](const Endpoint* one) {
        return one->message_field() == field;
      })) {
    return Fate::kPassed;
  }
  const auto* const known = v1::Request::descriptor()->FindFieldByNumber(field);
  return known != nullptr && known->containing_oneof() != nullptr ? Fate::kRefused : Fate::kDropped;
}

bool HasWrongType(int field, WireFormatLite::WireType type) {
  const auto* const known = v1::Request::descriptor()->FindFieldByNumber(field);
  return type == WireFormatLite::WIRETYPE_START_GROUP ||
         (known != nullptr && WireFormatLite::WireTypeForFieldType(
                                  static_cast<WireFormatLite::FieldType>(known->type())) != type);
}

proto::Error NoMessage() {
  return BadRequest("not_a_message", "The frame is not a scorecast.v1.Request.", "");
}

/// Copies what is passed on of a request. Returns its fault.
std::optional<proto::Error> ReadRequest(const std::string& message, PassedMessage& passed) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                      static_cast<int>(message.size()));
  for (int fields = 0; fields < kMaxFields; ++fields) {
    const auto begin = static_cast<std::size_t>(in.CurrentPosition());
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) {
      return in.ConsumedEntireMessage() ? std::nullopt : std::optional(NoMessage());
    }
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const Fate fate = FateOf(field);
    if (fate == Fate::kRefused) {
      return BadRequest("unknown_endpoint", "The request names no endpoint of a service.", "");
    }
    if (HasWrongType(field, WireFormatLite::GetTagWireType(tag)) ||
        !(fate == Fate::kPassed ? ReadNamed(in, field, passed.named)
                                : WireFormatLite::SkipField(&in, tag))) {
      return NoMessage();
    }
    if (fate == Fate::kPassed) {
      passed.bytes.append(message, begin, static_cast<std::size_t>(in.CurrentPosition()) - begin);
    }
  }
  return NoMessage();
}

}  // namespace

PassedFrameFormat::PassedFrameFormat(std::string message, std::uint64_t request_id,
                                     std::vector<Held> held)
    : message_(std::move(message)),
      held_(std::move(held)),
      request_bytes_(message_.size()),
      number_(request_id) {}

void PassedFrameFormat::Skip() {
  std::string().swap(message_);
  held_.clear();
}

proto::Expected<PassedMessage> PassedFrameFormat::Take() {
  PassedMessage passed;
  passed.held = std::move(held_);
  const std::string message = std::exchange(message_, {});
  passed.bytes.reserve(message.size());
  if (auto fault = ReadRequest(message, passed)) {
    return proto::Unexpected(*std::move(fault));
  }
  return passed;
}

std::string PassedFrameFormat::Part(const FrontReply& reply) {
  v1::Response response = reply.response;
  response.set_request_id(number_);
  return proto::ToFrame(response);
}

std::string PassedFrameFormat::Error(const proto::Error& error) {
  v1::Response response;
  response.set_request_id(number_);
  ToMessage(error, *response.mutable_error());
  return proto::ToFrame(response);
}

}  // namespace scorecast::coordinator
