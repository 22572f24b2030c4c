#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "coordinator/schedule/clock.h"
#include "coordinator/status/service_status.h"

namespace scorecast::v1 {
class Status;
}

namespace scorecast::coordinator {

/// What a server tells fronts of its state: a v1::Status, whose fields have the same names.
struct ServerState {
  double predicted_seconds = 0;
  std::int64_t waiting_requests = 0;
  std::int64_t waiting_tokens = 0;
  std::int64_t requests_in_flight = 0;
  std::int64_t running_completions = 0;
  std::int64_t cached_pages = 0;
  bool draining = false;
  bool ready = false;

  bool operator==(const ServerState&) const = default;
};

ServerState StateOf(const ServiceStatus& status, bool is_draining);
void ToMessage(const ServerState& state, v1::Status& message);

/// The state of a server, which is asked for at most a hundred times a second, however many replies
/// have it: asking locks what the computing thread also locks. Safe to use from any thread.
class RecentState {
 public:
  /// `ask` is called on any thread, by one at a time; if it is empty, nothing is known. `now` is
  /// the clock, which tests replace.
  explicit RecentState(std::function<ServerState()> ask,
                       std::function<Clock::time_point()> now = Clock::now)
      : ask_(std::move(ask)), now_(std::move(now)) {}

  /// `is_fresh`: it is asked for now in any case, since a front is told of a drain by the refusal
  /// that follows from it.
  ServerState Get(bool is_fresh = false);

 private:
  static constexpr auto kFresh = std::chrono::milliseconds(10);

  const std::function<ServerState()> ask_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  ServerState state_;
  Clock::time_point stale_;  ///< When the state is asked for again.
};

}  // namespace scorecast::coordinator
