#include "coordinator/transports/socket/server_state.h"

#include "coordinator/status/health.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

ServerState StateOf(const ServiceStatus& status, bool is_draining) {
  const SchedulerStatus& scheduler = status.scheduler;
  return {.predicted_seconds = scheduler.predicted_seconds,
          .waiting_requests = scheduler.waiting_jobs,
          .waiting_tokens = scheduler.waiting_tokens,
          .requests_in_flight = status.clients ? status.clients->requests_in_flight : 0,
          .running_completions = scheduler.running_completions,
          .cached_pages = scheduler.cache.cached_pages,
          .draining = is_draining,
          .ready = IsReady(status.cluster, is_draining)};
}

void ToMessage(const ServerState& state, v1::Status& message) {
  message.set_predicted_seconds(state.predicted_seconds);
  message.set_waiting_requests(state.waiting_requests);
  message.set_waiting_tokens(state.waiting_tokens);
  message.set_requests_in_flight(state.requests_in_flight);
  message.set_running_completions(state.running_completions);
  message.set_cached_pages(state.cached_pages);
  message.set_draining(state.draining);
  message.set_ready(state.ready);
}

ServerState RecentState::Get(bool is_fresh) {
  const std::lock_guard lock(mutex_);
  if (const Clock::time_point now = now_(); ask_ && (is_fresh || now >= stale_)) {
    state_ = ask_();
    stale_ = now + kFresh;
  }
  return state_;
}

}  // namespace scorecast::coordinator
