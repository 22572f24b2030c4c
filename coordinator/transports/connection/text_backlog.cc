#include "coordinator/transports/connection/text_backlog.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

namespace scorecast::coordinator {
namespace {

/// What a request counts in the mean halves with so many seconds of those that follow it.
constexpr double kHalfSeconds = 5;

proto::Error WaitTooLong(double wait, double longest, std::int64_t again) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "The request would have to wait too long to be tokenized: %.1f s > %.1f s.", wait,
                longest);
  return {429, "wait_too_long", text, "", again};
}

}  // namespace

proto::Expected<Held> TextBacklog::Add(const ClientId& client, std::int64_t bytes,
                                       Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const double rate = BytesASecond();
  const bool is_only_short_one = bytes <= kLongBytes && !addresses_.contains(client.address);
  // Nothing waits for more than all that waits.
  if (!is_only_short_one && static_cast<double>(bytes_) > max_wait_seconds_ * rate) {
    const double wait = static_cast<double>(BytesUntilDone(client, bytes) - bytes) / rate;
    if (wait > max_wait_seconds_) {
      const double seconds = static_cast<double>(bytes) / rate;
      // Of the address, because over HTTP the request may come back on another connection.
      const std::int64_t again = promises_.Promise({client.address, 0}, /*request=*/0, now,
                                                   wait - max_wait_seconds_, seconds);
      return proto::Unexpected(WaitTooLong(wait, max_wait_seconds_, again));
    }
  }
  bytes_ += bytes;
  Address& address = addresses_[client.address];
  address.bytes += bytes;
  address.connections[client.connection] += bytes;
  return Held(this, [client, bytes](TextBacklog* backlog) { backlog->Remove(client, bytes); });
}

std::int64_t TextBacklog::BytesUntilDone(const ClientId& client, std::int64_t bytes) const {
  const auto own = addresses_.find(client.address);
  std::int64_t until_done = bytes;
  if (own != addresses_.end()) {
    const auto& connections = own->second.connections;
    const auto connection = connections.find(client.connection);
    const std::int64_t of_connection =
        bytes + (connection == connections.end() ? 0 : connection->second);
    until_done = of_connection;
    for (const auto& [number, others] : connections) {
      until_done += number == client.connection ? 0 : std::min(others, of_connection);
    }
  }
  const std::int64_t of_address = until_done;
  for (const auto& [name, address] : addresses_) {
    until_done += name == client.address ? 0 : std::min(address.bytes, of_address);
  }
  return until_done;
}

void TextBacklog::Remove(const ClientId& client, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ -= bytes;
  const auto address = addresses_.find(client.address);
  address->second.bytes -= bytes;
  const auto connection = address->second.connections.find(client.connection);
  connection->second -= bytes;
  if (connection->second == 0) {
    address->second.connections.erase(connection);
  }
  if (address->second.connections.empty()) {
    addresses_.erase(address);
  }
}

void TextBacklog::NoteDone(std::int64_t bytes, double seconds) {
  const std::lock_guard lock(mutex_);
  const double kept = std::exp2(-seconds / kHalfSeconds);
  done_bytes_ = kept * done_bytes_ + static_cast<double>(bytes);
  done_seconds_ = kept * done_seconds_ + seconds;
}

double TextBacklog::BytesASecond() const {
  return done_seconds_ > 0 ? under_way_ * done_bytes_ / done_seconds_
                           : std::numeric_limits<double>::infinity();
}

}  // namespace scorecast::coordinator
