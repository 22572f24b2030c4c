#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/schedule/scheduler_status.h"
#include "coordinator/transports/connection/clients_status.h"
#include "proto/plan/cluster_status.h"

namespace scorecast::coordinator {

/// What a service does at one moment.
struct ServiceStatus {
  proto::ClusterStatus cluster;
  SchedulerStatus scheduler;
  std::optional<ClientsStatus> clients;  ///< nullopt in a batch, which has none.
};

/// For the log: a line on passes and queue, one on clients if there are any, and one on each rank.
std::vector<std::string> LinesOf(const ServiceStatus& status);

}  // namespace scorecast::coordinator
