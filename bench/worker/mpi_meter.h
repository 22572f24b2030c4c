#pragma once

#include <cstdint>

namespace scorecast::bench {

// A program that this is linked to calls MPI's collectives through it (MPI's profiling interface):
// they are counted, timed, and made to take longer if asked. Calls are made by one thread. What
// ranks on one host do in memory that they share is not seen.

/// Of this rank's calls since the program began. Seconds include waiting for the other ranks.
struct MpiCost {
  std::int64_t exchanges = 0;    ///< Calls by which all ranks get something of all.
  double exchange_seconds = 0;   ///< Of those.
  double broadcast_seconds = 0;  ///< Of what goes from or to rank 0 alone: plans and answers.
};

MpiCost operator-(const MpiCost& a, const MpiCost& b);

MpiCost MpiCostSoFar();

/// From now on what another rank sends arrives so much later: a simple model, in which every call
/// that receives waits once more, and nothing is computed meanwhile.
void AddMpiLatency(double seconds);

}  // namespace scorecast::bench
