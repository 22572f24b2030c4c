#include "coordinator/front/clients/passed_frame_format.h"

#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

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

/// Number of the text `model` in the message that a field of v1::Request has; 0 if it has none.
int ModelFieldIn(int field) {
  const auto* const outer = v1::Request::descriptor()->FindFieldByNumber(field);
  if (outer == nullptr || outer->message_type() == nullptr) {
    return 0;
  }
  const auto* const model = outer->message_type()->FindFieldByName("model");
  const bool is_text = model != nullptr && !model->is_repeated() &&
                       model->type() == google::protobuf::FieldDescriptor::TYPE_STRING;
  return is_text ? model->number() : 0;
}

/// Reads one message, up to its end, for its text in `field`. False at a fault.
bool ReadText(CodedInputStream& in, int field, std::string& text) {
  int length = 0;
  if (!in.ReadVarintSizeAsInt(&length)) {
    return false;
  }
  const CodedInputStream::Limit limit = in.PushLimit(length);
  const std::uint32_t wanted =
      field == 0 ? 0 : WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  while (const std::uint32_t tag = in.ReadTag()) {
    if (tag == wanted ? !WireFormatLite::ReadString(&in, &text)
                      : !WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
  }
  const bool is_whole = in.ConsumedEntireMessage();
  in.PopLimit(limit);
  return is_whole;
}

/// Copies all outermost fields of a request but its id and whom it is for. False at a fault.
bool ReadRequest(const std::string& message, PassedMessage& passed) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                      static_cast<int>(message.size()));
  for (int fields = 0; fields < kMaxFields; ++fields) {
    const auto begin = static_cast<std::size_t>(in.CurrentPosition());
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) {
      return in.ConsumedEntireMessage();
    }
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const bool is_message =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const int model = is_message ? ModelFieldIn(field) : 0;
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_START_GROUP ||
        (model != 0 ? !ReadText(in, model, passed.model) : !WireFormatLite::SkipField(&in, tag))) {
      return false;
    }
    if (field != v1::Request::kRequestIdFieldNumber &&
        field != v1::Request::kForwardedFieldNumber) {
      passed.bytes.append(message, begin, static_cast<std::size_t>(in.CurrentPosition()) - begin);
    }
  }
  return false;
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
  if (!ReadRequest(message, passed)) {
    return proto::Unexpected(
        BadRequest("not_a_message", "The frame is not a scorecast.v1.Request.", ""));
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
