#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scorecast::proto {

/// Operations that all ranks do together in a pass. In each of them a rank waits for others.
enum class RankOperation : std::uint32_t {
  kExchange,   ///< Each rank gets all summands of the rows that it owns.
  kShare,      ///< Each rank gets the finished rows that others own.
  kBroadcast,  ///< All ranks get the plan of the pass.
  kGather,     ///< Rank 0 gets the partial logits of all ranks.
};

inline constexpr std::array kRankOperations = {RankOperation::kExchange, RankOperation::kShare,
                                               RankOperation::kBroadcast, RankOperation::kGather};

constexpr std::string_view Name(RankOperation operation) {
  switch (operation) {
    case RankOperation::kExchange:
      return "exchange";
    case RankOperation::kShare:
      return "share";
    case RankOperation::kBroadcast:
      return "broadcast";
    case RankOperation::kGather:
      return "gather";
  }
  return "";
}

/// Work that a rank has done since it started. No value ever decreases.
struct RankWork {
  struct Cost {
    /// Bytes of other ranks that this rank received, or read in shared memory.
    std::uint64_t bytes = 0;
    double seconds = 0;  ///< Includes waiting for the other ranks.
  };

  Cost& of(RankOperation operation) { return costs[static_cast<std::size_t>(operation)]; }
  const Cost& of(RankOperation operation) const {
    return costs[static_cast<std::size_t>(operation)];
  }
  /// Time in which the rank was in one of the operations.
  double wait_seconds() const {
    double seconds = 0;
    for (const Cost& cost : costs) {
      seconds += cost.seconds;
    }
    return seconds;
  }

  double compute_seconds =
      0;  ///< Time in passes outside of the operations, up to the last of them.
  std::array<Cost, kRankOperations.size()> costs;
};

}  // namespace scorecast::proto
