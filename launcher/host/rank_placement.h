#pragma once

#include "launcher/host/host_resources.h"
#include "launcher/host/launcher_variables.h"

namespace scorecast::launcher {

/// Says who chose the CPUs that a rank may run on.
enum class Binder {
  kNobody,  ///< The rank may use the CPUs that whoever started the job may use.
  kMpirun,
  kSrun,  ///< Or nobody: srun does not say whether it bound its ranks.
};

/// Where a rank is placed, as far as the launcher's variables say it before MPI starts.
struct RankPlacement {
  int ranks_on_host = 1;  ///< Ranks of the job on this rank's host.
  Binder binder = Binder::kNobody;
  /// Whether the user told Slurm how many CPUs a rank gets (--cpus-per-task).
  bool has_cpus_per_task = false;
};

/// Reads the variables of mpirun and srun. A variable with an unexpected value counts as unset.
RankPlacement ReadRankPlacement(const Environment& environment);
/// The same, from the environment of this process.
RankPlacement ReadRankPlacement();

/// Whether the ranks of a host certainly have fewer CPUs than threads. `threads` is the number of
/// threads of each rank, `mine` are the resources that this rank may use. False if it depends on
/// the CPUs to which the launcher bound the other ranks.
bool ShareCpus(const RankPlacement& placement, const HostResources& mine, int threads);

/// If the ranks on this host share CPUs, tells Open MPI to give up the CPU while it waits.
/// Otherwise a rank that waits would keep the CPU from the rank for which it waits. Open MPI finds
/// this out by itself only with --oversubscribe. Does nothing if the user set mpi_yield_when_idle
/// by --mca or OMPI_MCA_*. Called before MPI starts. `threads` is --threads; 0 means as many
/// threads as the rank has CPUs.
void YieldIfCpusAreShared(int threads);

}  // namespace scorecast::launcher
