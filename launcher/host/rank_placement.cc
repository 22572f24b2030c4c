#include "launcher/host/rank_placement.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "launcher/host/launcher_variables.h"

namespace scorecast::launcher {

RankPlacement ReadRankPlacement(const Environment& environment) {
  RankPlacement placement;
  placement.has_cpus_per_task = environment("SLURM_CPUS_PER_TASK") != nullptr;
  std::optional<int> ranks;
  if (environment("OMPI_COMM_WORLD_SIZE") != nullptr) {  // Set by mpirun, also in a job of Slurm.
    ranks = NumberOf(environment("OMPI_COMM_WORLD_LOCAL_SIZE"));
    placement.binder =
        environment("OMPI_MCA_orte_bound_at_launch") == nullptr ? Binder::kNobody : Binder::kMpirun;
  } else if (environment("PMIX_RANK") != nullptr && environment("SLURM_STEP_ID") != nullptr) {
    ranks = SlurmTasks(environment);
    placement.binder = Binder::kSrun;
  }
  placement.ranks_on_host = std::max(1, ranks.value_or(1));
  return placement;
}

RankPlacement ReadRankPlacement() { return ReadRankPlacement(ProcessEnvironment()); }

bool ShareCpus(const RankPlacement& placement, const HostResources& mine, int threads) {
  const bool is_bound = placement.binder != Binder::kNobody;
  auto reachable = static_cast<double>((is_bound ? mine.host_cpus : mine.cpus).size());
  if (mine.slurm_cpus) {
    reachable = std::min(reachable, static_cast<double>(*mine.slurm_cpus));
  }
  for (const GroupLimit<double>& limit : mine.limits.cpus) {
    reachable = std::min(reachable, limit.amount);
  }
  return threads > static_cast<int>(mine.cpus.size()) ||
         placement.ranks_on_host * threads > reachable;
}

void YieldIfCpusAreShared(int threads) {
  if (ShareCpus(ReadRankPlacement(), DetectHostResources(), std::max(1, threads))) {
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
  }
}

}  // namespace scorecast::launcher
