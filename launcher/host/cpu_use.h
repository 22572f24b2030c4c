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
  int threads = 1;                ///< Threads of all these ranks together.
  bool has_threads_flag = false;  ///< The user chose the number of threads.
  double cpus = 1;                ///< That these ranks may use together.
  double unbound_cpus = 1;        ///< The same, if no launcher had bound them.
  Binder binder = Binder::kNobody;
  int online_cpus = 1;             ///< CPUs of the host, for all jobs together.
  std::optional<int> slurm_cpus;   ///< Those that Slurm gave to this job.
  bool has_cpus_per_task = false;  ///< The user told Slurm how many a rank gets.
  int numa_nodes = 1;              ///< On which a rank runs; of all these ranks the most.
};

/// A line if the ranks use at most half of the CPUs that they could use, or if they have more
/// threads than CPUs. The line names the flag that changes this. Empty if there is nothing to say,
/// or if the user has chosen it.
std::string CpuWarning(const HostCpuUse& use);

/// A line if a rank runs on several NUMA nodes, with the flags that start one rank in each node.
/// Otherwise empty.
std::string NumaWarning(const HostCpuUse& use);

/// Collective. Rank 0 logs each kind of warning for the first host that has one. `mine` and `share`
/// are the resources that this rank may use, `threads` is the number of threads with which it
/// computes, and `threads_flag` is --threads.
void LogCpuWarnings(const proto::Communicator& group, const HostResources& mine,
                    const RankShare& share, int threads, int threads_flag);

}  // namespace scorecast::launcher
