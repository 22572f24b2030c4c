#include "coordinator/transports/socket/forwarded.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "coordinator/access/api_keys.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/job.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kMaxNameBytes = 256;
/// A day, in microseconds. No request waits longer, and no time_point overflows.
constexpr std::int64_t kMaxTimeUs = std::int64_t{86'400} * 1'000'000;

/// Names are in lines of the log.
bool IsName(std::string_view text) {
  return text.size() <= kMaxNameBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<proto::Error> FaultOf(const v1::Forwarded& forwarded) {
  const auto fault = [](const std::string& field, const std::string& rule) {
    return BadRequest("bad_forwarded", "forwarded." + field + " " + rule + ".",
                      "forwarded." + field);
  };
  if (forwarded.client().empty() || !IsName(forwarded.client())) {
    return fault("client", "must be 1 to 256 visible ASCII characters");
  }
  if (!IsName(forwarded.network())) {
    return fault("network", "must be at most 256 visible ASCII characters");
  }
  if (forwarded.waited_us() < 0 || forwarded.waited_us() > kMaxTimeUs) {
    return fault("waited_us", "must be from 0 to a day");
  }
  if (forwarded.has_timeout_us() && forwarded.timeout_us() < 0) {
    return fault("timeout_us", "must not be negative");
  }
  const v1::ForwardedKey& key = forwarded.key();
  if (key.has_priority() && (key.priority() < kMinPriority || key.priority() > kMaxPriority)) {
    return fault("key.priority", "must be from " + std::to_string(kMinPriority) + " to " +
                                     std::to_string(kMaxPriority));
  }
  if (key.has_waiting_tokens() && key.waiting_tokens() < 1) {
    return fault("key.waiting_tokens", "must be at least 1");
  }
  return std::nullopt;
}

/// The holder of a key that the front has in its file.
Holder HolderOf(const v1::Forwarded& forwarded) {
  auto holder = std::make_shared<KeyHolder>();
  holder->key.name = forwarded.client();
  holder->name = ClientName(forwarded.client());
  const v1::ForwardedKey& key = forwarded.key();
  KeyLimits& limits = holder->key.limits;
  if (key.has_waiting_tokens()) {
    limits.waiting_tokens = key.waiting_tokens();
  }
  if (key.has_priority()) {
    limits.priority = key.priority();
  }
  limits.shares_cache = key.shares_cache();
  return holder;
}

}  // namespace

std::optional<proto::Error> Forward(const std::string& bytes, ConnectionCall& call) {
  if (!call.is_of_front()) {
    return proto::Error{403, "not_a_front",
                        "Only a front may say for whom a request is: show its key in a hello.",
                        "forwarded"};
  }
  v1::Forwarded forwarded;
  if (!forwarded.ParseFromString(bytes)) {
    return BadRequest("bad_forwarded", "forwarded is no message.", "forwarded");
  }
  if (auto fault = FaultOf(forwarded)) {
    return fault;
  }
  if (forwarded.has_key()) {
    call.SetHolder(HolderOf(forwarded));
  } else {
    const std::string& network =
        forwarded.network().empty() ? forwarded.client() : forwarded.network();
    call.SetClient({forwarded.client(), call.client().connection, network});
  }
  if (forwarded.has_timeout_us()) {
    call.SetLatest(call.arrived() + microseconds(std::min(forwarded.timeout_us(), kMaxTimeUs)));
  }
  call.SetArrived(call.arrived() - microseconds(forwarded.waited_us()));
  return std::nullopt;
}

}  // namespace scorecast::coordinator
