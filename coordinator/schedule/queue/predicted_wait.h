#pragma once

#include <span>
#include <vector>

#include "coordinator/schedule/queue/fair_queue.h"

namespace scorecast::coordinator {

/// A network, an address, a connection or a flow that has work waiting, and takes turns with the
/// one that a new job belongs to: see FairQueue. Times are predicted seconds of work. Weighted ones
/// are divided by the weights of their jobs.
struct Rival {
  double seconds = 0;  ///< Of the work that waits.
  double weighted_seconds = 0;
  /// By how much it has been served more than the new job's own network, address, connection or
  /// flow, in weighted seconds. Negative if it has been served less.
  double ahead = 0;
};

/// What a new job finds.
struct QueueForecast {
  double own_seconds = 0;          ///< Of the work that waits in the job's own flow.
  std::vector<Rival> flows;        ///< Other flows of the job's connection.
  std::vector<Rival> connections;  ///< Other connections of its address.
  std::vector<Rival> addresses;    ///< Other addresses of its network.
  std::vector<Rival> networks;     ///< Other networks.
  double pass_seconds = 0;         ///< Until the pass in flight ends.
  /// Predicted seconds of waiting work that are computed in a second. Less than 1 if passes have an
  /// overhead, or if running completions have a share of them.
  double speed = 1;
};

/// From what waits in each flow. `path` and `tags` are those of a new job. The speed and the time
/// of the pass in flight are not set.
QueueForecast ForecastOf(const FairPath& path, const FairTags& tags,
                         std::span<const FlowBacklog> backlogs);

/// The work of a new job.
struct JobForecast {
  double seconds = 0;        ///< Predicted time.
  double first_seconds = 0;  ///< Of its part in its first pass.
  double weight = 1;
};

/// Seconds from now.
struct PredictedWait {
  double begin = 0;  ///< Until the job's first pass begins.
  double end = 0;    ///< Until all of the job is computed.
};

/// Seconds after which the job's flow has got `own` seconds, if nothing more comes. Work is taken
/// to be divisible, as in a fluid: while a flow gets x weighted seconds, each of the others gets as
/// many, or all that it has; likewise connections, addresses and networks.
double SecondsUntilServed(const QueueForecast& queue, double weight, double own);

/// Seconds of all work that waits, of all clients.
double WaitingSeconds(const QueueForecast& queue);

/// How long a job waits if it comes now and nothing comes after it.
PredictedWait PredictWait(const QueueForecast& queue, const JobForecast& job);

}  // namespace scorecast::coordinator
