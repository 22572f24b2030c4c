#include "bench/service/cpu_time.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

namespace scorecast::bench {

double CpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  // "pid (name) state …". The name may have any characters; utime and stime are fields 14 and 15.
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) {
    throw std::runtime_error("process " + std::to_string(pid) + " is gone");
  }
  std::istringstream fields(line.substr(name_end + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) {
    fields >> skipped;
  }
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) * CpuTick();
}

CpuDemand operator-(const CpuDemand& a, const CpuDemand& b) {
  return {a.used - b.used, a.waited - b.waited};
}

CpuDemand& operator+=(CpuDemand& a, const CpuDemand& b) {
  a.used += b.used;
  a.waited += b.waited;
  return a;
}

CpuDemand CpuDemandOf(const std::vector<pid_t>& pids) {
  CpuDemand demand;
  for (const pid_t pid : pids) {
    const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
      std::ifstream file(task.path() / "schedstat");
      double used = 0;
      double waited = 0;
      if (!(file >> used >> waited)) {
        throw std::runtime_error("cannot read " + (task.path() / "schedstat").string());
      }
      demand += {used * 1e-9, waited * 1e-9};
    }
  }
  return demand;
}

double CpuTick() { return 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK)); }

}  // namespace scorecast::bench
