#include "tests/e2e/service.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include <unistd.h>

namespace scorecast::testing {
namespace {

constexpr auto kWholeLife = std::chrono::seconds(280);
/// Longer than a drain takes.
constexpr auto kTimeToDrain = std::chrono::seconds(30);

/// OMPI_COMM_WORLD_RANK in a process's environment; -1 if it is not set.
int RankOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  const std::string name = "OMPI_COMM_WORLD_RANK=";
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(name)) {
      return std::stoi(entry.substr(name.size()));
    }
  }
  return -1;
}

}  // namespace

Service::Service(const BatchCommand& command,
                 const std::optional<std::vector<std::string>>& supervise_flags)
    : ranks_(command.ranks) {
  std::vector<std::string> arguments = {
      "serve", "--model", command.model.string(), "--port", "0", "--http-port", "0"};
  const std::vector<std::string> flags = command.AllFlags();
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  if (std::ranges::find(flags, "--max-wait-ms") == flags.end()) {
    // On a busy machine the predicted wait of a test's requests may be long, and no test but those
    // of this flag is about that.
    arguments.insert(arguments.end(), {"--max-wait-ms", "0"});
  }
  Command program = ScorecastCommand(arguments, ranks_);
  if (supervise_flags) {
    program = SupervisedCommand(program, *supervise_flags);
  }
  program.timeout = kWholeLife;
  process_ = std::make_unique<Process>(program);
  const std::string ready = "ready: requests on ";
  const std::string http = ", HTTP on ";
  const std::string line = process_->ErrorLineWith(ready);
  if (line.empty()) {
    throw std::runtime_error("the service is not ready: " + process_->Wait().err);
  }
  const std::size_t begin = line.find(ready) + ready.size();
  const std::size_t end = line.find(http);
  address_ = line.substr(begin, end - begin);
  const std::size_t http_begin = end + http.size();
  http_address_ = line.substr(http_begin, line.find(" (host ") - http_begin);
}

Service::~Service() {
  if (!ended_) {
    Drain();
  }
}

std::vector<pid_t> Service::Ranks() const {
  return ranks_ == 0 ? std::vector<pid_t>{process_->pid()} : RanksOf(process_->pid());
}

std::vector<pid_t> RanksOf(pid_t mpirun) {
  std::map<int, pid_t> by_rank;
  for (const pid_t pid : DescendantsOf(mpirun)) {
    if (ProgramOf(pid) == "scorecast") {
      by_rank.emplace(RankOf(pid), pid);
    }
  }
  std::vector<pid_t> pids;
  std::transform(by_rank.begin(), by_rank.end(), std::back_inserter(pids),
                 [](const auto& entry) { return entry.second; });
  return pids;
}

ProcessResult Service::Drain() {
  ended_ = true;
  if (process_->pid() > 0) {
    kill(process_->pid(), SIGUSR1);
  }
  process_->SetTimeLeft(kTimeToDrain);
  return process_->Wait();
}

bool HasReadAll(launcher::Client& client) {
  const int client_port = client.socket().local_endpoint().port();
  const int server_port = client.socket().remote_endpoint().port();
  bool is_sent = false;
  bool is_read = false;
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    // "0: 0100007F:1F90 0100007F:C001 01 TX_QUEUE:RX_QUEUE …", all in hexadecimal.
    unsigned from = 0;
    unsigned to = 0;
    unsigned long unsent = 0;
    unsigned long unread = 0;
    if (std::sscanf(line.c_str(), "%*d: %*x:%x %*x:%x %*x %lx:%lx", &from, &to, &unsent, &unread) !=
        4) {
      continue;
    }
    const int local = static_cast<int>(from);
    const int remote = static_cast<int>(to);
    is_sent = is_sent || (local == client_port && remote == server_port && unsent == 0);
    is_read = is_read || (local == server_port && remote == client_port && unread == 0);
  }
  return is_sent && is_read;
}

Resources ResourcesOf(pid_t pid) {
  Resources resources;
  const std::filesystem::path directory = "/proc/" + std::to_string(pid);
  std::ifstream status(directory / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) {
      resources.resident_bytes = std::stoull(line.substr(6)) * 1024;
    } else if (line.starts_with("Threads:")) {
      resources.threads = std::stoull(line.substr(8));
    }
  }
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "fd", gone)) {
    static_cast<void>(entry);
    ++resources.descriptors;
  }
  return resources;
}

std::vector<std::filesystem::path> SharedFilesOf(pid_t pid) {
  const std::string session = std::filesystem::temp_directory_path() / "ompi.";
  std::set<std::filesystem::path> files;
  const auto add = [&](const std::string& path) {
    if (path.starts_with("/dev/shm/") || path.starts_with(session)) {
      files.insert(path);
    }
  };
  const std::filesystem::path directory = "/proc/" + std::to_string(pid);
  std::ifstream maps(directory / "maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos) {
      add(line.substr(path));
    }
  }
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "fd", gone)) {
    add(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  return {files.begin(), files.end()};
}

}  // namespace scorecast::testing
