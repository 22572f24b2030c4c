#pragma once

#include <string>
#include <vector>

#include "coordinator/schedule/block_cache.h"
#include "proto/plan/cluster_status.h"

namespace scorecast::coordinator {

/// What a service does at one moment.
struct ServiceStatus {
  proto::ClusterStatus cluster;
  BlockCacheCounters cache;
};

/// For the log: a line on the service, then a line on each rank.
std::vector<std::string> LinesOf(const ServiceStatus& status);

}  // namespace scorecast::coordinator
