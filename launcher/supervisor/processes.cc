#include "launcher/supervisor/processes.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace scorecast::launcher {
namespace {

std::vector<HostProcess> AllProcesses() {
  std::vector<HostProcess> processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    HostProcess process;
    process.pid = std::atoi(entry.path().filename().c_str());
    if (process.pid <= 0) {
      continue;
    }
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    // If the process has just ended, this fails without an exception.
    std::getline(file, stat, '\0');
    // "pid (name) state parent …". The name may have any characters.
    const std::size_t name_begin = stat.find('(');
    const std::size_t name_end = stat.rfind(") ");
    if (name_begin == std::string::npos || name_end == std::string::npos ||
        std::sscanf(stat.c_str() + name_end, ") %c %d", &process.state, &process.parent) != 2) {
      continue;  // The process has ended meanwhile.
    }
    process.name = stat.substr(name_begin + 1, name_end - name_begin - 1);
    processes.push_back(process);
  }
  return processes;
}

}  // namespace

std::string HostProcess::ToText() const {
  return std::to_string(pid) + " (" + name + ", state " + state + ")";
}

std::vector<HostProcess> ChildrenOf(pid_t parent) {
  std::vector<HostProcess> children = AllProcesses();
  std::erase_if(children, [&](const HostProcess& process) { return process.parent != parent; });
  return children;
}

std::vector<HostProcess> FamilyOf(pid_t pid) {
  const std::vector<HostProcess> all = AllProcesses();
  std::vector<HostProcess> family;
  std::ranges::copy_if(all, std::back_inserter(family),
                       [&](const HostProcess& process) { return process.pid == pid; });
  for (std::size_t next = 0; next < family.size(); ++next) {
    const pid_t parent = family[next].pid;
    std::ranges::copy_if(all, std::back_inserter(family),
                         [&](const HostProcess& process) { return process.parent == parent; });
  }
  return family;
}

std::optional<std::chrono::duration<double>> WaitForCpu(pid_t pid) {
  // Nanoseconds on a CPU, nanoseconds of waiting for one, number of turns.
  std::ifstream file("/proc/" + std::to_string(pid) + "/schedstat");
  std::int64_t computed = 0;
  std::int64_t waited = 0;
  if (!(file >> computed >> waited)) {
    return std::nullopt;
  }
  return std::chrono::nanoseconds(waited);
}

}  // namespace scorecast::launcher
