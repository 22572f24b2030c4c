#include "launcher/host/host_resources.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "launcher/host/launcher_variables.h"

namespace scorecast::launcher {
namespace {

std::string CpuName(int cpu) { return "cpu " + std::to_string(cpu); }
template <typename Amount>
std::string GroupName(const GroupLimit<Amount>& limit) {
  return "group " + limit.id;
}

std::string Number(double number) {
  std::ostringstream text;
  text.precision(3);
  text << number;
  return text.str();
}

std::string Cpus(double number) {
  const std::string text = Number(number);  // "1" also stands for a number near 1.
  return text + (text == "1" ? " CPU" : " CPUs");
}

/// ", shared by 2 ranks", or nothing.
std::string SharedBy(int ranks) {
  return ranks == 1 ? "" : ", shared by " + std::to_string(ranks) + " ranks";
}

/// The CPUs that this process may run on. Empty if the system does not say.
std::set<int> AllowedCpus() {
  // The mask must have room for every CPU that the system could have.
  for (int room = 1024; room <= 1 << 20; room *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(room));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(room));
    std::set<int> cpus;
    const bool is_known = sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; is_known && cpu < room; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask)) {
        cpus.insert(cpu);
      }
    }
    CPU_FREE(mask);
    if (is_known) {
      return cpus;
    }
  }
  return {};
}

/// The CPUs to which this process could be bound. If the system does not say, the CPUs to which it
/// is bound.
std::set<int> ReachableCpus() {
  std::set<int> cpus;
  // A thread may ask for any CPUs. It gets those of them that are in its cpuset.
  std::thread asker([&cpus] {
    constexpr std::size_t kMostCpus = 1 << 16;
    const std::vector<std::uint64_t> all(kMostCpus / 64, ~std::uint64_t{0});
    sched_setaffinity(0, kMostCpus / 8, reinterpret_cast<const cpu_set_t*>(all.data()));
    cpus = AllowedCpus();
  });
  asker.join();
  return cpus;
}

}  // namespace

HostResources DetectHostResources() {
  HostResources resources;
  resources.cpus = AllowedCpus();
  if (resources.cpus.empty()) {
    for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu) {
      resources.cpus.insert(cpu);
    }
  }
  resources.host_cpus = ReachableCpus();
  resources.host_cpus.insert(resources.cpus.begin(), resources.cpus.end());
  resources.slurm_cpus = SlurmStepCpus(ProcessEnvironment());
  resources.slurm_job_cpus = SlurmJobCpus(ProcessEnvironment());
  resources.memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  resources.limits = ReadControlGroupLimits();
  return resources;
}

HostResources Unbound(HostResources resources) {
  resources.cpus = resources.host_cpus;
  resources.slurm_cpus = resources.slurm_job_cpus;
  return resources;
}

std::set<std::string> NamesOf(const HostResources& resources) {
  std::set<std::string> names;
  for (const int cpu : resources.cpus) {
    names.insert(CpuName(cpu));
  }
  for (const auto& limit : resources.limits.cpus) {
    names.insert(GroupName(limit));
  }
  for (const auto& limit : resources.limits.memory) {
    names.insert(GroupName(limit));
  }
  return names;
}

RankShare DivideResources(const HostResources& mine,
                          const std::vector<std::set<std::string>>& names_of_ranks) {
  const auto sharers = [&](const std::string& name) {
    const auto count = std::ranges::count_if(
        names_of_ranks, [&](const std::set<std::string>& names) { return names.contains(name); });
    return std::max(1, static_cast<int>(count));
  };
  // If n ranks may run on a CPU, each of them gets 1/n of it.
  double cpus = 0;
  int cpu_sharers = 1;
  for (const int cpu : mine.cpus) {
    const int ranks = sharers(CpuName(cpu));
    cpus += 1.0 / ranks;
    cpu_sharers = std::max(cpu_sharers, ranks);
  }
  RankShare share;
  share.threads_reason = Cpus(static_cast<double>(mine.cpus.size())) + SharedBy(cpu_sharers);
  const auto all_ranks = static_cast<int>(names_of_ranks.size());
  if (mine.slurm_cpus && static_cast<double>(*mine.slurm_cpus) / all_ranks < cpus) {
    cpus = static_cast<double>(*mine.slurm_cpus) / all_ranks;
    share.threads_reason = Cpus(*mine.slurm_cpus) + " of the Slurm job" + SharedBy(all_ranks);
  }
  for (const GroupLimit<double>& limit : mine.limits.cpus) {
    const int ranks = sharers(GroupName(limit));
    if (limit.amount / ranks < cpus) {
      cpus = limit.amount / ranks;
      share.threads_reason =
          "a quota of " + Cpus(limit.amount) + " of control group " + limit.name + SharedBy(ranks);
    }
  }
  constexpr double kRounding = 1e-6;  // Thirds of a CPU need not add up to exactly 1.
  share.cpus = cpus;
  share.threads = std::max(1, static_cast<int>(std::floor(cpus + kRounding)));

  share.memory = {mine.memory, all_ranks, ""};
  for (const GroupLimit<std::int64_t>& limit : mine.limits.memory) {
    const int ranks = sharers(GroupName(limit));
    if (limit.amount / ranks < share.memory.bytes / share.memory.ranks) {
      share.memory = {limit.amount, ranks, limit.name};
    }
  }
  return share;
}

RankShare ShareOfThisRank(const proto::Communicator& group, const HostResources& mine) {
  std::string text;
  for (const std::string& name : NamesOf(mine)) {
    text += name + '\n';
  }
  std::vector<std::set<std::string>> names_of_ranks;
  for (const std::string& names : group.OnThisHost().AllGather(text)) {
    std::istringstream stream(names);
    std::set<std::string>& of_rank = names_of_ranks.emplace_back();
    for (std::string name; std::getline(stream, name);) {
      of_rank.insert(name);
    }
  }
  return DivideResources(mine, names_of_ranks);
}

std::string Gib(std::int64_t bytes) {
  return Number(static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30)) + " GiB";
}

std::string MemoryText(const MemoryShare& memory) {
  return Gib(memory.bytes) + " of " +
         (memory.group.empty() ? "this host" : "control group " + memory.group) +
         SharedBy(memory.ranks);
}

}  // namespace scorecast::launcher
