#include "coordinator/front/ongoing_request.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace scorecast::coordinator {

namespace {

/// A stream of more completions does not go on elsewhere, because a replica takes a bounded
/// v1::Forwarded.
constexpr std::size_t kMostPositions = 512;

/// The longest times that a replica takes.
constexpr auto kLongest = std::chrono::hours(24);

/// The field of a v1::Request that counts: of several that exclude each other, the last one.
int FieldOf(const std::string& message) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  int field = 0;
  while (const std::uint32_t tag = in.ReadTag()) {
    field = WireFormatLite::GetTagFieldNumber(tag);
    if (!WireFormatLite::SkipField(&in, tag)) {
      break;
    }
  }
  return field;
}

std::int64_t Microseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::clamp<Clock::duration>(time, Clock::duration::zero(), kLongest))
      .count();
}

}  // namespace

OngoingRequest::OngoingRequest(FrontRequest request, Handler its_handler)
    : message(std::move(request.bytes)),
      field(FieldOf(message)),
      bytes(message.size()),
      body_bytes(bytes - request.body_begin),
      pieces(PiecesOf(std::string_view(message).substr(request.body_begin))),
      model(std::move(request.model)),
      arrived(request.arrived),
      judge(std::move(request.judge)),
      handler(std::move(its_handler)) {
  forwarded.set_client(std::string(request.client.address.text()));
  forwarded.set_network(std::string(request.client.network.text()));
  if (request.key) {
    *forwarded.mutable_key() = *request.key;
  }
  if (request.defaults) {
    forwarded.set_default_seed(request.defaults->seed);
    forwarded.set_response_id(request.defaults->response_id);
    forwarded.set_created(request.defaults->created);
  }
  place.client = std::move(request.client);
  place.bytes = bytes;
  place.deadline = request.deadline;
  place.priority = std::max(forwarded.key().priority(), 0);
}

v1::Forwarded OngoingRequest::ForwardedAt(Clock::time_point now) const {
  v1::Forwarded told = forwarded;
  for (const auto& [output, position] : sent) {
    *told.add_sent() = position;
  }
  if (arrived) {
    told.set_waited_us(Microseconds(now - *arrived));
  }
  if (place.deadline) {
    told.set_timeout_us(Microseconds(*place.deadline - now));
  }
  return told;
}

void OngoingRequest::NotePart(const v1::Response& part) {
  if (!std::exchange(has_begun, true)) {
    begun_by = ReplicaFacts::Of(replica->connection->hello());
  }
  if (part.has_position()) {
    sent[part.position().output()] = part.position();
  }
  if (!part.has_position() || !forwarded.has_default_seed() || sent.size() > kMostPositions) {
    may_move = false;
    sent.clear();
    std::string().swap(message);
  }
}

void OngoingRequest::ReleaseSuspect() {
  if (std::exchange(is_suspect_there, false)) {
    --replica->suspects;
  }
}

}  // namespace scorecast::coordinator
