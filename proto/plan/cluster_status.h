#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/plan/rank_work.h"

namespace scorecast::proto {

enum class RankState : std::uint32_t {
  kStarting,
  kIdle,       ///< Has no pass to compute.
  kComputing,  ///< Computes its share of a pass.
  kWaiting,    ///< Waits for other ranks in the middle of a pass.
};

constexpr std::string_view Name(RankState state) {
  switch (state) {
    case RankState::kStarting:
      return "starting";
    case RankState::kIdle:
      return "idle";
    case RankState::kComputing:
      return "computing";
    case RankState::kWaiting:
      return "waiting";
  }
  return "";
}

struct RankStatus {
  std::string host;
  RankState state = RankState::kStarting;
  std::uint64_t pass = 0;  ///< The pass that the rank computes or computed last, counted from 1.
  std::uint32_t step = 0;  ///< Exchanges with other ranks that it has begun in this pass.
  double seconds_since_heard = 0;
  /// The computing thread's CPU time, as a share of the time in which it was computing. nullopt if
  /// it has not computed for long enough yet.
  std::optional<double> cpu_share;
  RankWork work;
};

/// What rank 0 knows of all ranks.
struct ClusterStatus {
  std::uint64_t passes_done = 0;
  std::vector<RankStatus> ranks;  ///< The index is the rank.
};

}  // namespace scorecast::proto
