#pragma once

#include <optional>
#include <string>

#include "proto/plan/cluster_status.h"

namespace scorecast::launcher {

/// "rank 3 (host b) is the slowest: it computed 58 % longer than the others on average, which
/// waited for it", if one rank lags between two times: if it computed for a second at least, and a
/// quarter longer than the other ranks on average. Null if none does.
std::optional<std::string> LaggingRank(const proto::ClusterStatus& before,
                                       const proto::ClusterStatus& now);

}  // namespace scorecast::launcher
