#pragma once

#include "launcher/host/host_resources.h"
#include "launcher/host/launcher_variables.h"

namespace scorecast::launcher {

/// Who chose the CPUs that a rank may run on.
enum class Binder {
  kNobody,  ///< The rank may use the CPUs that whoever started the job may use.
  kMpirun,
  kSrun,  ///< Or nobody: srun does not say whether it bound its ranks.
};

/// What the launcher's variables say about where a rank is, before MPI starts.
struct RankPlacement {
  int ranks_on_host = 1;  ///< Ranks of the job on this rank's host.
  Binder binder = Binder::kNobody;
  /// The user told Slurm how many CPUs a rank gets (--cpus-per-task).
  bool has_cpus_per_task = false;
};

/// Reads the variables of mpirun and srun. A variable that is not as expected counts as unset.
RankPlacement ReadRankPlacement(const Environment& environment);
/// The same, from the environment of this process.
RankPlacement ReadRankPlacement();

/// Whether the ranks of a host certainly have fewer CPUs than threads. `threads` are those of each
/// rank, `mine` what this rank may use. False if it depends on which CPUs the launcher bound the
/// other ranks to.
bool ShareCpus(const RankPlacement& placement, const HostResources& mine, int threads);

/// Tells Open MPI to give up the CPU while it waits, if the ranks on this host share CPUs, unless
/// the user set mpi_yield_when_idle by --mca or OMPI_MCA_*. Called before MPI starts. `threads` is
/// --threads: 0 means as many as there are CPUs for the rank. Otherwise a rank that waits keeps the
/// CPU from the one that it waits for. Open MPI finds this out by itself only with --oversubscribe.
void YieldIfCpusAreShared(int threads);

}  // namespace scorecast::launcher
