#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/queue/retry_promises.h"
#include "coordinator/service/held_bytes.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The requests that wait to be tokenized or are being tokenized, by client, and which further ones
/// are refused because they would wait too long.
///
/// The wait is predicted from the order of TurnOrder: until a connection has been given the time
/// for what it has waiting, the others of its address get as much, or less if they have less; and
/// until its address has been given that, so do the other addresses. Time is bytes divided by the
/// bytes a second at which requests were tokenized lately. Until the first one is done, none is
/// refused. Safe to use from any thread.
class TextBacklog {
 public:
  /// `under_way` is how many requests are tokenized at the same time.
  TextBacklog(double max_wait_seconds, int under_way)
      : max_wait_seconds_(max_wait_seconds), under_way_(under_way) {}

  TextBacklog(const TextBacklog&) = delete;
  TextBacklog& operator=(const TextBacklog&) = delete;

  /// A request with `bytes` bytes counts as long as the result exists, which must not outlive this
  /// object. Or its 429. A short request of an address that has no other is never refused.
  proto::Expected<Held> Add(const ClientId& client, std::int64_t bytes, Clock::time_point now);
  /// A request has been tokenized: its turns took `seconds`.
  void NoteDone(std::int64_t bytes, double seconds);

 private:
  struct Address {
    std::int64_t bytes = 0;
    std::map<std::uint64_t, std::int64_t> connections;
  };

  /// Bytes that are tokenized before a request of a client is done, itself included.
  std::int64_t BytesUntilDone(const ClientId& client, std::int64_t bytes) const;
  void Remove(const ClientId& client, std::int64_t bytes);
  double BytesASecond() const;

  const double max_wait_seconds_;
  const int under_way_;
  std::mutex mutex_;
  std::int64_t bytes_ = 0;  ///< Of all addresses.
  std::map<ClientName, Address> addresses_;
  RetryPromises promises_;
  // Of the requests that are done, the latest counting most.
  double done_bytes_ = 0;
  double done_seconds_ = 0;
};

}  // namespace scorecast::coordinator
