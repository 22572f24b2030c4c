#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/queue/job_size.h"
#include "coordinator/schedule/queue/predicted_wait.h"
#include "coordinator/schedule/queue/retry_promises.h"
#include "coordinator/schedule/queue/waiting_jobs.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// AdmissionLimits::max_tokens, times this, is the upper bound on the bytes of the jobs that wait
/// for their first pass. Only jobs with many labels, or with items of very few tokens, reach it
/// first.
inline constexpr std::int64_t kQueueBytesPerToken = 256;

/// A client has few of the waiting jobs if, with a further one, it has at most this part of the
/// room that the others leave, or if it has no other.
inline constexpr int kSmallShare = 16;

struct AdmissionLimits {
  std::size_t max_jobs = 0;                ///< See SchedulerOptions::max_queue.
  std::int64_t max_tokens = 0;             ///< See SchedulerOptions::max_queue_tokens.
  std::optional<double> max_wait_seconds;  ///< See SchedulerOptions.
};

/// A job that arrives.
struct NewJob {
  const ClientId& client;
  std::uint64_t digest = 0;  ///< See DigestOf.
  JobSize size;
  JobForecast forecast;
  std::optional<Clock::time_point> deadline;
  double max_wait_seconds = std::numeric_limits<double>::infinity();  ///< See Job.
  std::optional<std::int64_t> max_client_tokens = std::nullopt;       ///< See Job.
};

/// What it finds.
struct QueueState {
  WaitingJobs all;            ///< Jobs without a row in any pass yet.
  WaitingJobs of_network;     ///< Those of the new job's network.
  WaitingJobs of_address;     ///< Those of the new job's address.
  WaitingJobs of_connection;  ///< Those of its connection.
  QueueForecast forecast;
};

/// Decides which jobs are refused because too much waits, and says when each of them should come
/// back. A job that comes back when it was told to has room that its client's other jobs do not
/// have: see RetryPromises.
///
/// - The queue is bounded by its jobs, tokens and bytes. Half as much again is for connections that
///   have few of the waiting jobs, another half for addresses that have few, and another one for
///   networks that have few: a client that fills the queue does not keep others out, nor do many
///   addresses of one network keep out other networks. "Few" depends on the room that is left (a
///   dynamic threshold: Choudhury and Hahne, 1998), so that there is room for another client
///   however many fill it.
/// - The tokens of a client may have a bound of their own, which no promise exceeds.
/// - A job must not have to wait too long, or beyond its deadline. Both are predicted.
///
/// Not safe for several threads.
class Admission {
 public:
  explicit Admission(const AdmissionLimits& limits);

  /// Whether a job is admitted even if it was never told to come back. Uses up no promise. If it is
  /// admitted with a forecast that is too long, Fault need not be asked with an exact one.
  bool IsAdmitted(const NewJob& job, const QueueState& queue, Clock::time_point now) {
    return !RefusalOf(job, queue, now, /*is_promised=*/false);
  }
  /// The 429 of a job, or nothing if it is admitted.
  std::optional<proto::Error> Fault(const NewJob& job, const QueueState& queue,
                                    Clock::time_point now);

 private:
  /// Why a job is refused.
  struct Refusal {
    std::string reason;
    std::string message;
    std::string param;
    double room_in = 0;  ///< Seconds after which it would be admitted, if no other came.
  };

  // `is_promised`: whether the job comes when it was told to.
  std::optional<Refusal> RefusalOf(const NewJob& job, const QueueState& queue,
                                   Clock::time_point now, bool is_promised);
  std::optional<Refusal> QueueRefusal(const NewJob& job, const QueueState& queue,
                                      bool is_promised) const;
  std::optional<Refusal> WaitRefusal(const NewJob& job, const QueueState& queue, double wait,
                                     Clock::time_point now, bool is_promised);

  /// How many halves of the bounds the jobs that wait may take, the new one included.
  int HalvesFor(const NewJob& job, const QueueState& queue) const;
  /// Whether a client with these jobs has few: see kSmallShare.
  bool HasFew(const WaitingJobs& own, const NewJob& job, const WaitingJobs& all, int halves) const;

  const AdmissionLimits limits_;
  RetryPromises promises_;
};

}  // namespace scorecast::coordinator
