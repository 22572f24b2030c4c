#pragma once

#include <chrono>
#include <functional>

#include "coordinator/resources/resource.h"
#include "proto/plan/cluster_status.h"

namespace scorecast::coordinator {

/// A rank is late if rank 0 has heard nothing from it for longer than this. A rank reports four
/// times a second.
inline constexpr std::chrono::seconds kLateAfter{3};

/// Says whether the ranks can compute a request now: a 200, or a 503 with the reason. A service is
/// not ready while it drains, or while a rank is late or still starting.
ResourceContent Readiness(const proto::ClusterStatus& cluster, bool is_draining);

/// Whether that is a 200.
bool IsReady(const proto::ClusterStatus& cluster, bool is_draining);

/// GET /health: a 200 as long as the process serves.
Resource HealthResource();
/// GET /ping: the same, by the name that Sagemaker and text-embeddings-inference have for it.
Resource PingResource();
/// GET /ready: see Readiness. The functions are called on any thread.
Resource ReadyResource(std::function<proto::ClusterStatus()> cluster,
                       std::function<bool()> is_draining);

}  // namespace scorecast::coordinator
