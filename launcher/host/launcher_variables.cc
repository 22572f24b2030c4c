#include "launcher/host/launcher_variables.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
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

/// The entry of this node in a list of this form.
std::optional<int> EntryOfThisNode(const char* list, const Environment& environment) {
  const std::optional<int> node = NumberOf(environment("SLURM_NODEID"));
  return list == nullptr || !node ? std::nullopt : EntryOfNode(list, *node);
}

}  // namespace

Environment ProcessEnvironment() {
  return [](const char* name) -> const char* { return std::getenv(name); };
}

std::optional<int> NumberOf(const char* variable) {
  std::string_view text = variable == nullptr ? "" : variable;
  const std::optional<int> number = TakeNumber(text);
  return text.empty() ? number : std::nullopt;
}

std::optional<int> SlurmTasks(const Environment& environment) {
  return EntryOfThisNode(environment("SLURM_STEP_TASKS_PER_NODE"), environment);
}

std::optional<int> SlurmStepCpus(const Environment& environment) {
  const std::optional<int> cpus = NumberOf(environment("SLURM_CPUS_ON_NODE"));
  return cpus && *cpus > 0 ? cpus : std::nullopt;
}

std::optional<int> SlurmJobCpus(const Environment& environment) {
  const std::optional<int> of_step = SlurmStepCpus(environment);
  // mpirun passes on the node number of its own host only, but the CPUs of every host.
  if (!of_step || environment("OMPI_COMM_WORLD_SIZE") != nullptr) {
    return of_step;
  }
  const std::optional<int> of_job =
      EntryOfThisNode(environment("SLURM_JOB_CPUS_PER_NODE"), environment);
  return std::max(*of_step, of_job.value_or(0));
}

}  // namespace scorecast::launcher
