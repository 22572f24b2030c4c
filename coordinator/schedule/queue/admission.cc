#include "coordinator/schedule/queue/admission.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace scorecast::coordinator {
namespace {

/// Half bounds that the waiting jobs may take when a job is admitted. Jobs of clients that have few
/// of them are admitted beyond the bounds: see Admission.
constexpr int kHalvesForAll = 2;
constexpr int kHalvesForConnections = 3;
constexpr int kHalvesForAddresses = 4;
constexpr int kHalvesForNetworks = 5;

/// A job that comes when it was told to may wait this many times as long as others: in the meantime
/// other clients may have come.
constexpr double kPromisedWaits = 2;
/// Promises take at most this part of the longest wait. The rest is for requests that were never
/// refused, so that there is work even if no refused request comes back.
constexpr double kPromisedPart = 0.5;

/// `bound` times `factor`, or the greatest number if that is less: bounds may be as good as none.
template <typename Number>
Number Times(Number bound, Number factor) {
  constexpr Number kGreatest = std::numeric_limits<Number>::max();
  return bound > kGreatest / factor ? kGreatest : bound * factor;
}

template <typename Number>
Number Halves(Number bound, int halves) {
  return Times(bound, static_cast<Number>(halves)) / 2;
}

/// "5 + 3 > 7."
std::string Exceeds(std::int64_t before, std::int64_t more, std::int64_t limit) {
  return std::to_string(before) + " + " + std::to_string(more) + " > " + std::to_string(limit) +
         ".";
}

/// "2.5 s", or "38.2 ms" if the time is below a second.
std::string TimeText(double seconds) {
  char text[32];
  const bool is_short = std::abs(seconds) < 1;
  std::snprintf(text, sizeof(text), "%.1f %s", is_short ? 1e3 * seconds : seconds,
                is_short ? "ms" : "s");
  return text;
}

/// Seconds until `over` of `all` that waits has begun.
double SecondsUntilBegun(double over, double all, const QueueForecast& forecast) {
  return forecast.pass_seconds +
         std::min(over / all, 1.0) * WaitingSeconds(forecast) / forecast.speed;
}

ClientId AnyConnection(const ClientId& client) {
  return {client.address, std::numeric_limits<std::uint64_t>::max()};
}

/// To whom a job is promised room. A connection that has nothing else waiting is one of many, as
/// over HTTP, where a request may come back on another one.
ClientId PromiseOwner(const NewJob& job, const QueueState& queue) {
  return queue.of_connection.jobs > 0 ? job.client : AnyConnection(job.client);
}

/// Seconds by which the job delays the next one of the owner of its promises, if all that wait go
/// on to share the time.
double SecondsApart(const NewJob& job, const QueueState& queue) {
  const QueueForecast& forecast = queue.forecast;
  std::size_t sharing = (1 + forecast.networks.size()) * (1 + forecast.addresses.size());
  if (queue.of_connection.jobs > 0) {
    sharing *= 1 + forecast.connections.size();
  }
  return static_cast<double>(sharing) * job.forecast.seconds / forecast.speed;
}

}  // namespace

Admission::Admission(const AdmissionLimits& limits)
    : limits_{.max_jobs = std::min(limits.max_jobs,
                                   std::numeric_limits<std::size_t>::max() / kHalvesForNetworks),
              .max_tokens = limits.max_tokens,
              .max_wait_seconds = limits.max_wait_seconds} {}

std::optional<proto::Error> Admission::Fault(const NewJob& job, const QueueState& queue,
                                             Clock::time_point now) {
  const bool is_promised = promises_.Keep(job.client, job.digest, now) ||
                           promises_.Keep(AnyConnection(job.client), job.digest, now);
  std::optional<Refusal> refusal = RefusalOf(job, queue, now, is_promised);
  if (!refusal) {
    return std::nullopt;
  }
  const std::int64_t retry_after = promises_.Promise(PromiseOwner(job, queue), job.digest, now,
                                                     refusal->room_in, SecondsApart(job, queue));
  return proto::Error{429, std::move(refusal->reason), std::move(refusal->message),
                      std::move(refusal->param), retry_after};
}

std::optional<Admission::Refusal> Admission::RefusalOf(const NewJob& job, const QueueState& queue,
                                                       Clock::time_point now, bool is_promised) {
  if (auto refusal = QueueRefusal(job, queue, is_promised)) {
    return refusal;
  }
  if (!limits_.max_wait_seconds) {
    return std::nullopt;
  }
  const PredictedWait wait = PredictWait(queue.forecast, job.forecast);
  if (auto refusal = WaitRefusal(job, queue, wait.begin, now, is_promised)) {
    return refusal;
  }
  if (!job.deadline) {
    return std::nullopt;
  }
  const double left = std::chrono::duration<double>(*job.deadline - now).count();
  // If it would come too late even alone, no time is better than now.
  if (wait.end <= left || job.forecast.seconds / queue.forecast.speed > left) {
    return std::nullopt;
  }
  return Refusal{"deadline_too_close",
                 "The request would be computed in " + TimeText(wait.end) +
                     ", but its deadline is in " + TimeText(left) + ".",
                 "timeout_ms", wait.end - left};
}

std::optional<Admission::Refusal> Admission::QueueRefusal(const NewJob& job,
                                                          const QueueState& queue,
                                                          bool is_promised) const {
  const int halves = is_promised ? kHalvesForAddresses : HalvesFor(job, queue);
  const WaitingJobs& all = queue.all;
  const auto refusal = [&](std::string message, auto over, auto of_all) {
    return Refusal{
        "queue_full", std::move(message), "",
        SecondsUntilBegun(static_cast<double>(over), static_cast<double>(of_all), queue.forecast)};
  };
  const std::size_t max_jobs = Halves(limits_.max_jobs, halves);
  if (all.jobs >= max_jobs) {
    return refusal("Too many requests wait: " + std::to_string(all.jobs) + " of at most " +
                       std::to_string(max_jobs) + ".",
                   all.jobs + 1 - max_jobs, all.jobs);
  }
  if (all.jobs == 0) {
    return std::nullopt;
  }
  const WaitingJobs& own = queue.of_address;
  const std::int64_t own_tokens = own.size.tokens + job.size.tokens;
  if (job.max_client_tokens && own.jobs > 0 && own_tokens > *job.max_client_tokens) {
    Refusal of_client =
        refusal("Too many tokens of this client wait: " +
                    Exceeds(own.size.tokens, job.size.tokens, *job.max_client_tokens),
                own_tokens - *job.max_client_tokens, own.size.tokens);
    of_client.reason = "client_queue_full";
    return of_client;
  }
  const std::int64_t max_tokens = Halves(limits_.max_tokens, halves);
  const std::int64_t tokens = all.size.tokens + job.size.tokens;
  if (tokens > max_tokens) {
    return refusal("Too many tokens wait: " + Exceeds(all.size.tokens, job.size.tokens, max_tokens),
                   tokens - max_tokens, all.size.tokens);
  }
  const std::int64_t max_bytes = Times(max_tokens, kQueueBytesPerToken);
  const std::int64_t bytes = all.size.bytes + job.size.bytes;
  if (bytes > max_bytes) {
    return refusal("Too many bytes wait: " + Exceeds(all.size.bytes, job.size.bytes, max_bytes),
                   bytes - max_bytes, all.size.bytes);
  }
  return std::nullopt;
}

std::optional<Admission::Refusal> Admission::WaitRefusal(const NewJob& job, const QueueState& queue,
                                                         double wait, Clock::time_point now,
                                                         bool is_promised) {
  const double longest = std::min(*limits_.max_wait_seconds, job.max_wait_seconds);
  double with_promised = wait;
  if (!is_promised && wait > kPromisedPart * longest) {
    with_promised += promises_.PromisedSeconds(PromiseOwner(job, queue), now);
  }
  const double longest_promised =
      std::min(kPromisedWaits * *limits_.max_wait_seconds, job.max_wait_seconds);
  if (with_promised <= (is_promised ? longest_promised : longest)) {
    return std::nullopt;
  }
  return Refusal{"wait_too_long",
                 "The request would have to wait too long: " + TimeText(with_promised) + " > " +
                     TimeText(longest) + ".",
                 "", wait - longest};
}

int Admission::HalvesFor(const NewJob& job, const QueueState& queue) const {
  if (HasFew(queue.of_network, job, queue.all, kHalvesForNetworks)) {
    return kHalvesForNetworks;
  }
  if (HasFew(queue.of_address, job, queue.all, kHalvesForAddresses)) {
    return kHalvesForAddresses;
  }
  return HasFew(queue.of_connection, job, queue.all, kHalvesForConnections) ? kHalvesForConnections
                                                                            : kHalvesForAll;
}

bool Admission::HasFew(const WaitingJobs& own, const NewJob& job, const WaitingJobs& all,
                       int halves) const {
  if (own.jobs == 0) {
    return true;
  }
  const std::size_t max_jobs = Halves(limits_.max_jobs, halves);
  const std::int64_t max_tokens = Halves(limits_.max_tokens, halves);
  const std::int64_t room_tokens = max_tokens - all.size.tokens;
  const std::int64_t room_bytes = Times(max_tokens, kQueueBytesPerToken) - all.size.bytes;
  return all.jobs < max_jobs && own.jobs + 1 <= (max_jobs - all.jobs) / kSmallShare &&
         own.size.tokens + job.size.tokens <= room_tokens / kSmallShare &&
         own.size.bytes + job.size.bytes <= room_bytes / kSmallShare;
}

}  // namespace scorecast::coordinator
