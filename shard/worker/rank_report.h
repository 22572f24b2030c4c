#pragma once

#include <cstdint>

#include "proto/plan/cluster_status.h"
#include "proto/plan/rank_work.h"

namespace scorecast::shard {

/// What a rank reports about itself several times a second. It is sent as it lies in memory,
/// because all ranks run the same build on one kind of machine.
struct RankReport {
  proto::RankState state = proto::RankState::kStarting;
  std::uint32_t step = 0;       ///< Exchanges of the pass that have begun.
  std::uint64_t pass = 0;       ///< Passes that have begun.
  std::uint64_t tasks = 0;      ///< Changes from report to report if tasks were begun.
  double computed_seconds = 0;  ///< Time in which the computing thread did not wait.
  double cpu_seconds = 0;       ///< CPU time of the computing thread.
  double expected_seconds = 0;  ///< Expected time of this pass; 0: unknown. Set only by rank 0.
  proto::RankWork work;

  bool is_in_pass() const {
    return state == proto::RankState::kComputing || state == proto::RankState::kWaiting;
  }
};

}  // namespace scorecast::shard
