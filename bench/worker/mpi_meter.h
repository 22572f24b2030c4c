#pragma once

#include <cstdint>

namespace scorecast::bench {

// A program that links this file calls MPI's collectives, and the sending of and waiting for
// messages, through it (MPI's profiling interface). It counts and times the calls, and can make
// them take longer. All calls must come from one thread. Data that ranks of one host exchange
// through shared memory is not counted.

/// Cost of this rank's calls since the program began. Seconds include waiting for the other ranks.
struct MpiCost {
  std::int64_t exchanges = 0;    ///< Calls by which ranks receive from each other.
  double exchange_seconds = 0;   ///< Time in these calls.
  double broadcast_seconds = 0;  ///< Time in calls from or to rank 0: plans and partial logits.
  double cpu_seconds = 0;        ///< CPU time of the thread in all these calls, which mostly poll.
};

MpiCost operator-(const MpiCost& a, const MpiCost& b);

MpiCost MpiCostSoFar();

/// Makes data of other ranks arrive later from now on. The model is simple: every call that
/// receives waits `seconds` once, and nothing is computed in this time. Messages that are under way
/// while the rank computes arrive `seconds` after MPI_Testall has found them.
void AddMpiLatency(double seconds);

}  // namespace scorecast::bench
