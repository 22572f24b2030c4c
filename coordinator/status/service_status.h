#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/transports/connection/clients_status.h"
#include "proto/plan/cluster_status.h"

namespace scorecast::coordinator {

/// What a service does at one moment.
struct ServiceStatus {
  proto::ClusterStatus cluster;
  SchedulerStatus scheduler;
  std::optional<ClientsStatus> clients;  ///< nullopt in a batch, which has none.
};

/// "498 rows/s, 1.2 ms of overhead a pass, bound 200 ms". "no overhead a pass" if a pass takes
/// nothing beyond its rows, keys and reads, or if its first rows even take less than the others.
std::string TextOf(const PassTimes& times);

/// For the log: a line on passes and queue, one on the time of passes, one on clients if there are
/// any, and one on each rank.
std::vector<std::string> LinesOf(const ServiceStatus& status);

}  // namespace scorecast::coordinator
