#include "launcher/host/cpu_use.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <unistd.h>

#include "launcher/host/numa_nodes.h"
#include "proto/base/count.h"
#include "proto/log/log.h"
#include "proto/mpi/agreement.h"

namespace scorecast::launcher {
namespace {

constexpr double kRounding = 1e-6;  // Thirds of a CPU need not add up to exactly 1.

using proto::Count;

/// The flag with which the ranks use the CPUs that they would have if they were not bound.
std::string UnbindingFlag(const HostCpuUse& use) {
  if (use.binder == Binder::kMpirun) {
    return "because mpirun binds ranks: give mpirun --bind-to none, or --map-by numa --bind-to "
           "numa";
  }
  const int of_rank = std::max(1, static_cast<int>(use.unbound_cpus + kRounding) / use.ranks);
  return "because srun binds ranks: give srun --cpus-per-task=" + std::to_string(of_rank) +
         ", or --cpu-bind=none";
}

/// A rank's share as one line, for the other ranks of its host.
std::string ShareText(int threads, double cpus, double unbound_cpus, int numa_nodes) {
  std::ostringstream text;
  text.precision(12);
  text << threads << ' ' << cpus << ' ' << unbound_cpus << ' ' << numa_nodes;
  return text.str();
}

}  // namespace

std::string CpuWarning(const HostCpuUse& use) {
  const std::string ranks = "host " + use.host + ": " + Count(use.ranks, "rank");
  const bool is_bound = use.binder != Binder::kNobody;
  const bool unbinding_helps = is_bound && use.unbound_cpus + kRounding >= use.threads;
  if (use.threads > use.cpus + kRounding) {
    const int cpus = std::max(1, static_cast<int>(use.cpus + kRounding));
    const std::string shared = ranks + (use.ranks == 1 ? " has " : " have ") +
                               Count(use.threads, "thread") + " on " + Count(cpus, "CPU") +
                               ", which keep each other waiting";
    if (unbinding_helps) {
      return shared + ", " + UnbindingFlag(use);
    }
    return shared + (use.has_threads_flag && cpus >= use.ranks
                         ? ": give --threads " + std::to_string(cpus / use.ranks) + " or fewer"
                         : ": start at most " + Count(cpus, "rank") + " there");
  }
  if (use.has_threads_flag) {
    return "";
  }
  const int unbound = static_cast<int>(use.unbound_cpus + kRounding);
  if (is_bound && 2 * use.threads <= unbound) {
    return ranks + " " + (use.ranks == 1 ? "uses " : "use ") + std::to_string(use.threads) +
           " of the " + std::to_string(unbound) + " CPUs, " + UnbindingFlag(use);
  }
  if (use.slurm_cpus && !use.has_cpus_per_task && 2 * *use.slurm_cpus <= use.online_cpus) {
    return "host " + use.host + ": Slurm gave the job " + std::to_string(*use.slurm_cpus) +
           " of the " + std::to_string(use.online_cpus) +
           " CPUs: give sbatch --exclusive, or --cpus-per-task";
  }
  return "";
}

std::string NumaWarning(const HostCpuUse& use) {
  if (use.numa_nodes <= 1) {
    return "";
  }
  const std::string nodes = std::to_string(use.numa_nodes);
  const int of_rank = std::max(1, static_cast<int>(use.unbound_cpus + kRounding) / use.numa_nodes);
  return "host " + use.host + ": a rank runs on " + nodes +
         " NUMA nodes, and uses memory of one from the CPUs of another: start a rank in each, by " +
         (use.binder == Binder::kSrun
              ? "srun --ntasks-per-node=" + nodes + " --cpus-per-task=" + std::to_string(of_rank)
              : "mpirun --map-by numa --bind-to numa");
}

void LogCpuWarnings(const proto::Communicator& group, const HostResources& mine,
                    const RankShare& share, int threads, int threads_flag) {
  const double unbound_cpus = ShareOfThisRank(group, Unbound(mine)).cpus;
  const RankPlacement placement = ReadRankPlacement();
  const proto::Communicator here = group.OnThisHost();
  HostCpuUse use = {.host = proto::HostName(),
                    .ranks = here.size(),
                    .threads = 0,
                    .has_threads_flag = threads_flag > 0,
                    .cpus = 0,
                    .unbound_cpus = 0,
                    .binder = placement.binder,
                    .online_cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
                    .slurm_cpus = mine.slurm_job_cpus,
                    .has_cpus_per_task = placement.has_cpus_per_task};
  for (const std::string& text :
       here.AllGather(ShareText(threads, share.cpus, unbound_cpus, CountNumaNodes(mine.cpus)))) {
    std::istringstream stream(text);
    int threads_of_rank = 0;
    double cpus = 0;
    double unbound = 0;
    int numa_nodes = 1;
    stream >> threads_of_rank >> cpus >> unbound >> numa_nodes;
    use.threads += threads_of_rank;
    use.cpus += cpus;
    use.unbound_cpus += unbound;
    use.numa_nodes = std::max(use.numa_nodes, numa_nodes);
  }
  for (const std::string& warning : {CpuWarning(use), NumaWarning(use)}) {
    const std::vector<std::string> warnings = group.AllGather(warning);
    const auto first = std::ranges::find_if_not(warnings, &std::string::empty);
    if (group.is_root() && first != warnings.end()) {
      proto::Log(proto::LogLevel::kWarning, *first);
    }
  }
}

}  // namespace scorecast::launcher
