#pragma once

#include <optional>
#include <string>

#include "launcher/host/host_resources.h"
#include "launcher/host/rank_placement.h"
#include "proto/mpi/communicator.h"

namespace scorecast::launcher {

/// How the ranks of one host use its CPUs.
struct HostCpuUse {
  std::string host;
  int ranks = 1;
  int threads = 1;                ///< Of all these ranks together.
  bool has_threads_flag = false;  ///< The user chose the number of threads.
  double cpus = 1;                ///< That these ranks may use together.
  double unbound_cpus = 1;        ///< The same, if no launcher had bound them.
  Binder binder = Binder::kNobody;
  int online_cpus = 1;             ///< Of the host, for all jobs together.
  std::optional<int> slurm_cpus;   ///< Those that Slurm gave to this job.
  bool has_cpus_per_task = false;  ///< The user told Slurm how many a rank gets.
  int numa_nodes = 1;              ///< On which a rank runs; of all these ranks the most.
};

/// One line, if the ranks use at most half of the CPUs that they could have, or if they have more
/// threads than CPUs. It names the flag that mends it. Empty if all is well, or if the user chose
/// it.
std::string CpuWarning(const HostCpuUse& use);

/// One line, if a rank runs on several NUMA nodes, with the flags that start one in each. Else
/// empty.
std::string NumaWarning(const HostCpuUse& use);

/// Collective. Rank 0 logs each kind of warning for the first host that has one. `mine` and `share`
/// are what this rank may use, `threads` those that it computes with, `threads_flag` is --threads.
void LogCpuWarnings(const proto::Communicator& group, const HostResources& mine,
                    const RankShare& share, int threads, int threads_flag);

}  // namespace scorecast::launcher
