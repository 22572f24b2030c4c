#include "bench/service/service_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace scorecast::bench {
namespace {

constexpr auto kReadyTime = std::chrono::seconds(180);
/// Longer than a drain, which computes queued requests for some seconds.
constexpr auto kDrainTime = std::chrono::seconds(30);
constexpr auto kKillTime = std::chrono::seconds(5);

std::filesystem::path ProgramOfThisBuild() {
  // build/NAME/bench/service/scorecast_service_bench
  const std::filesystem::path bench = std::filesystem::canonical("/proc/self/exe");
  return bench.parent_path().parent_path().parent_path() / "scorecast";
}

std::vector<std::string> CommandLine(const ServiceOptions& options) {
  std::vector<std::string> line = {
      SCORECAST_MPIEXEC,
      "--oversubscribe",
      "--bind-to",
      "none",
      "-n",
      std::to_string(options.ranks),
      (options.program.empty() ? ProgramOfThisBuild() : options.program).string(),
      "serve",
      "--model",
      options.model_dir.string(),
      "--threads",
      std::to_string(options.threads),
      "--max-batch-tokens",
      std::to_string(options.max_batch_tokens),
      "--port",
      "0",
      "--http-port",
      "0"};
  if (options.one_by_one) {
    line.emplace_back("--one-by-one");
  }
  return line;
}

/// Runs in the child. It must not allocate, because another thread of the parent may have held the
/// heap's lock at the fork.
[[noreturn]] void Exec(const std::vector<char*>& arguments, int output, pid_t parent) {
  // mpirun ends its ranks on SIGTERM.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() == parent) {
    const int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
  }
  _exit(127);
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(task.path() / "children");
    for (pid_t child = 0; file >> child;) {
      children.push_back(child);
    }
  }
  std::sort(children.begin(), children.end());
  return children;
}

}  // namespace

ServiceProcess::Addresses ServiceProcess::AddressesIn(const std::string& line) {
  static const std::regex kReady(R"(ready: requests on (\S+), HTTP on (\S+) \(host .*\)$)");
  std::smatch found;
  return std::regex_search(line, found, kReady) ? Addresses{found[1], found[2]} : Addresses{};
}

ServiceProcess::ServiceProcess(const ServiceOptions& options) : num_ranks_(options.ranks) {
  std::vector<std::string> line = CommandLine(options);
  std::vector<char*> arguments;
  for (std::string& word : line) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  std::array<int, 2> output{};
  if (pipe2(output.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    Exec(arguments, output[1], parent);
  }
  close(output[1]);
  if (pid_ < 0) {
    close(output[0]);
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  std::future<Addresses> ready = ready_.get_future();
  reader_ = std::thread([this, fd = output[0]] { ReadLog(fd); });
  if (ready.wait_for(kReadyTime) == std::future_status::ready) {
    addresses_ = ready.get();
  }
  if (addresses_.requests.empty()) {
    Stop();
    throw std::runtime_error("the service did not start:\n" + Log());
  }
}

ServiceProcess::~ServiceProcess() {
  if (pid_ > 0) {
    Stop();
  }
}

std::vector<pid_t> ServiceProcess::Ranks() const {
  std::vector<pid_t> ranks = ChildrenOf(pid_);
  if (ranks.size() != static_cast<std::size_t>(num_ranks_)) {
    throw std::runtime_error("the service ended during the measurement");
  }
  return ranks;
}

void ServiceProcess::ReadLog(int fd) {
  bool is_ready = false;
  std::string line;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t bytes = read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) {
      continue;
    }
    if (bytes <= 0) {
      break;
    }
    const std::lock_guard lock(mutex_);
    for (ssize_t i = 0; i < bytes; ++i) {
      const char c = buffer[static_cast<std::size_t>(i)];
      log_ += c;
      if (c != '\n') {
        line += c;
        continue;
      }
      if (const Addresses found = AddressesIn(line); !is_ready && !found.requests.empty()) {
        is_ready = true;
        ready_.set_value(found);
      }
      line.clear();
    }
  }
  close(fd);
  if (!is_ready) {
    ready_.set_value({});
  }
}

bool ServiceProcess::EndsWithin(std::chrono::seconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (waitpid(pid_, &status_, WNOHANG) != pid_) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    usleep(10'000);
  }
  return true;
}

void ServiceProcess::Stop() {
  // SIGKILL of mpirun also ends the ranks, because they end when their connection to mpirun closes.
  constexpr std::array<std::pair<int, std::chrono::seconds>, 3> kSteps = {
      {{SIGUSR1, kDrainTime}, {SIGTERM, kKillTime}, {SIGKILL, kKillTime}}};
  for (const auto& [signal, time] : kSteps) {
    kill(pid_, signal);
    if (EndsWithin(time)) {
      break;
    }
  }
  reader_.join();
  pid_ = -1;
  if (!addresses_.requests.empty() && (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0)) {
    std::fprintf(stderr, "bench: the service did not end normally:\n%s", Log().c_str());
  }
}

std::string ServiceProcess::Log() {
  const std::lock_guard lock(mutex_);
  return log_;
}

}  // namespace scorecast::bench
