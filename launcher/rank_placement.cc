#include "launcher/rank_placement.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace scorecast::launcher {
namespace {

/// The number at the start of `text`, which is then removed.
std::optional<int> TakeNumber(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<int> NumberOf(const char* variable) {
  std::string_view text = variable == nullptr ? "" : variable;
  const std::optional<int> number = TakeNumber(text);
  return text.empty() ? number : std::nullopt;
}

/// The entry of one node in a list of Slurm: "4(x2),3" stands for 4, 4 and 3.
std::optional<int> EntryOfNode(std::string_view list, int node) {
  while (!list.empty()) {
    const std::optional<int> entry = TakeNumber(list);
    std::optional<int> repeats = 1;
    if (list.starts_with("(x")) {
      list.remove_prefix(2);
      repeats = TakeNumber(list);
      if (!list.starts_with(")")) {
        return std::nullopt;
      }
      list.remove_prefix(1);
    }
    if (!entry || !repeats) {
      return std::nullopt;
    }
    if (node < *repeats) {
      return entry;
    }
    node -= *repeats;
    if (!list.starts_with(",")) {
      return std::nullopt;
    }
    list.remove_prefix(1);
  }
  return std::nullopt;
}

/// Ranks that srun started on this host.
std::optional<int> TasksOfSlurmStep(const Environment& environment) {
  const char* list = environment("SLURM_STEP_TASKS_PER_NODE");
  const std::optional<int> node = NumberOf(environment("SLURM_NODEID"));
  return list == nullptr || !node ? std::nullopt : EntryOfNode(list, *node);
}

}  // namespace

RankPlacement ReadRankPlacement(const Environment& environment) {
  RankPlacement placement;
  placement.has_cpus_per_task = environment("SLURM_CPUS_PER_TASK") != nullptr;
  std::optional<int> ranks;
  if (environment("OMPI_COMM_WORLD_SIZE") != nullptr) {  // mpirun, also in a job of Slurm
    ranks = NumberOf(environment("OMPI_COMM_WORLD_LOCAL_SIZE"));
    placement.binder =
        environment("OMPI_MCA_orte_bound_at_launch") == nullptr ? Binder::kNobody : Binder::kMpirun;
  } else if (environment("PMIX_RANK") != nullptr && environment("SLURM_STEP_ID") != nullptr) {
    ranks = TasksOfSlurmStep(environment);
    placement.binder = Binder::kSrun;
  }
  placement.ranks_on_host = std::max(1, ranks.value_or(1));
  return placement;
}

RankPlacement ReadRankPlacement() {
  return ReadRankPlacement([](const char* name) -> const char* { return std::getenv(name); });
}

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
