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
  if (forwarded.has_created() != forwarded.has_response_id()) {
    return fault("created", "must be there with response_id, and not without it");
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

proto::Expected<ForwardedFor> ReadForwarded(const std::string& bytes) {
  v1::Forwarded message;
  if (!message.ParseFromString(bytes)) {
    return proto::Unexpected(BadRequest("bad_forwarded", "forwarded is no message.", "forwarded"));
  }
  if (auto fault = FaultOf(message)) {
    return proto::Unexpected(*std::move(fault));
  }
  ForwardedFor forwarded;
  forwarded.client = message.client();
  forwarded.network = message.network().empty() ? message.client() : message.network();
  if (message.has_key()) {
    forwarded.holder = HolderOf(message);
  }
  forwarded.waited = microseconds(message.waited_us());
  if (message.has_timeout_us()) {
    forwarded.timeout = microseconds(std::min(message.timeout_us(), kMaxTimeUs));
  }
  if (message.has_default_seed()) {
    forwarded.default_seed = message.default_seed();
  }
  if (message.has_response_id()) {
    forwarded.identity = ResponseIdentity{message.response_id(), message.created()};
  }
  for (const v1::StreamPosition& position : message.sent()) {
    forwarded.sent[position.output()] = {position.tokens(), position.digest()};
  }
  return forwarded;
}

void Forward(const ForwardedFor& forwarded, const Connection& connection, ConnectionCall& call) {
  if (forwarded.holder != nullptr) {
    call.SetHolder(forwarded.holder);
  } else {
    call.SetClient({forwarded.client, call.client().connection, forwarded.network});
  }
  call.SetBytes(connection.BytesOf(call.client().address));
  if (forwarded.timeout) {
    call.SetLatest(call.arrived() + *forwarded.timeout);
  }
  call.SetArrived(call.arrived() - forwarded.waited);
  call.SetDefaults(forwarded.default_seed, forwarded.identity);
  call.SetSent(forwarded.sent);
}

void ToMessage(const StreamPosition& position, v1::StreamPosition& message) {
  message.set_output(static_cast<std::uint32_t>(position.output));
  message.set_tokens(position.reached.tokens);
  message.set_digest(position.reached.digest);
}

}  // namespace scorecast::coordinator
