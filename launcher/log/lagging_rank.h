#pragma once

#include <optional>
#include <string>

#include "proto/plan/cluster_status.h"

namespace scorecast::launcher {

/// A text such as "rank 3 (host b) is the slowest: it computed 58 % longer than the others on
/// average, which waited for it", if one rank lagged between two times. A rank lagged if it
/// computed for at least a second, and a quarter longer than the other ranks on average. Null if no
/// rank did.
std::optional<std::string> LaggingRank(const proto::ClusterStatus& before,
                                       const proto::ClusterStatus& now);

}  // namespace scorecast::launcher
