#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/transports/connection/clients_status.h"
#include "proto/plan/cluster_status.h"

namespace scorecast::coordinator {

/// The state of a service at one moment.
struct ServiceStatus {
  proto::ClusterStatus cluster;
  SchedulerStatus scheduler;
  std::optional<ClientsStatus> clients;  ///< nullopt in a batch, which has none.
};

/// E.g. "498 rows/s, 1.2 ms of overhead a pass, bound 200 ms". It says "no overhead a pass" if a
/// pass takes no time beyond that of its rows, keys and reads, or if its first rows even take less
/// than the others.
std::string TextOf(const PassTimes& times);

/// A text such as "rank 3 (host b) is the slowest: it computed 58 % longer than the others on
/// average, which waited for it", if one rank lagged between two times. A rank lagged if it
/// computed for at least a second, and a quarter longer than the other ranks on average. Null if no
/// rank did.
std::optional<std::string> LaggingRank(const proto::ClusterStatus& before,
                                       const proto::ClusterStatus& now);

/// For the log: a line about passes and queue, a line about the time of passes, a line about
/// clients if there are any, a line about each rank, and a line about the rank that lagged since
/// `before`, if one did.
std::vector<std::string> LinesOf(const ServiceStatus& status,
                                 const proto::ClusterStatus& before = {});

}  // namespace scorecast::coordinator
