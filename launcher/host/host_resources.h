#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/host/control_groups.h"
#include "proto/mpi/communicator.h"

namespace scorecast::launcher {

/// Resources that this process may use, together with all other processes that may use them.
struct HostResources {
  std::set<int> cpus;  ///< Numbers of the CPUs that the process may run on.
  /// The CPUs to which the process could be bound: those of the host, or of the cpuset that
  /// contains the process.
  std::set<int> host_cpus;
  std::optional<int> slurm_cpus;      ///< CPUs of this host that Slurm gave to this job step.
  std::optional<int> slurm_job_cpus;  ///< Those that it gave to the whole job.
  std::int64_t memory = 0;            ///< Bytes of the host.
  ControlGroupLimits limits;
};

/// Detects what the host and the control groups of this process offer.
HostResources DetectHostResources();

/// Memory that several ranks share.
struct MemoryShare {
  std::int64_t bytes = 0;
  int ranks = 1;      ///< Ranks that share it.
  std::string group;  ///< The control group that limits it; empty if it is the host's.
};

/// The share of one rank.
struct RankShare {
  int threads = 1;
  double cpus = 1;             ///< May be less than one.
  std::string threads_reason;  ///< For the log, e.g. "4 CPUs shared by 2 ranks".
  MemoryShare memory;
};

/// The resources that the process could use if no launcher had bound it or given it a part of the
/// job's CPUs.
HostResources Unbound(HostResources resources);

/// Names of all resources that ranks can share: CPUs and control groups.
std::set<std::string> NamesOf(const HostResources& resources);

/// Divides `mine` among the ranks that share it. `names_of_ranks` has the NamesOf of every rank on
/// the host, including this one. All ranks that may use a CPU, a quota or memory get equal shares
/// of it.
RankShare DivideResources(const HostResources& mine,
                          const std::vector<std::set<std::string>>& names_of_ranks);

/// DivideResources of `mine` among the ranks of `group` on this host. Collective.
RankShare ShareOfThisRank(const proto::Communicator& group, const HostResources& mine);

/// For the log: "3.2 GiB of control group /x" or "15.6 GiB of this host".
std::string MemoryText(const MemoryShare& memory);

/// "1.5 GiB"
std::string Gib(std::int64_t bytes);

}  // namespace scorecast::launcher
