#include "launcher/supervisor/job.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/supervisor/supervisor_link.h"
#include "launcher/supervisor/wait_notice.h"
#include "proto/base/error.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

/// The longest time that a process needs to end after SIGKILL. It needs more only if the kernel is
/// stuck.
constexpr auto kTimeToDie = std::chrono::seconds(10);
/// Time after which the log says for which processes the supervisor waits.
constexpr auto kPatienceWithProcesses = std::chrono::seconds(1);

using Clock = std::chrono::steady_clock;

/// Environment of the launcher, which its ranks on this host inherit.
void SetEnvironment(const std::filesystem::path& directory, const std::string& launcher) {
  setenv(kSupervisorVariable, (directory / "socket").c_str(), 1);
  // If a rank dies, mpirun would wait for a second before it kills the others. They end by
  // themselves, so there is nothing to wait for.
  setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 0);
  // Open MPI's session directory is made here. Each job has a directory of its own, because
  // otherwise all jobs of a user share one, and the first job that ends removes it. srun needs no
  // such directory, and would pass its name on to hosts that do not have it.
  if (std::filesystem::path(launcher).filename() != "srun") {
    setenv("TMPDIR", directory.c_str(), 1);
  }
}

[[noreturn]] void Execute(const std::vector<std::string>& command, int lock) {
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  close(input);
  // The launcher has a copy of the lock, which keeps the directory as long as the launcher runs.
  fcntl(lock, F_SETFD, 0);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "scorecast: cannot run %s: %s\n", arguments[0], std::strerror(errno));
  _exit(127);
}

/// "4711 (mpirun, state D), 4712 (scorecast, state R)".
std::string Names(const std::vector<HostProcess>& processes) {
  std::string names;
  for (const HostProcess& process : processes) {
    names += (names.empty() ? "" : ", ") + process.ToText();
  }
  return names;
}

}  // namespace

Job::Job(const std::vector<std::string>& command, SupervisorDirectory& directory)
    : directory_(directory.MakeJobDirectory()),
      listener_(ListenAt(directory_ / "socket")),
      earlier_children_(ChildrenOf(getpid())) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  SetEnvironment(directory_, command.front());
  launcher_ = fork();
  if (launcher_ < 0) {
    throw proto::StartupError(std::string("cannot start a process: ") + std::strerror(errno));
  }
  if (launcher_ == 0) {
    Execute(command, directory.lock());
  }
  // The child does the same, so that the group exists whichever of the two is first.
  setpgid(launcher_, launcher_);
}

Job::~Job() {
  Signal(SIGKILL);
  EndRankZero();
  EndAdopted();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void Job::Signal(int signal) const {
  if (!exit_code_) {
    kill(signal == SIGKILL ? -launcher_ : launcher_, signal);
  }
}

void Job::SignalRankZero(int signal) const {
  if (!link_) {
    return;
  }
  if (rank_zero_ > 0) {
    kill(rank_zero_, signal);
  } else {
    Signal(signal);
  }
}

void Job::Reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == launcher_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    // From now on the system may give the number to another process.
    std::erase_if(earlier_children_, [pid](const HostProcess& child) { return child.pid == pid; });
  }
}

std::string Job::CpuShortage() const {
  std::string longest;
  std::chrono::duration<double> most = kPatienceWithProcesses;
  for (const HostProcess& process : FamilyOf(launcher_)) {
    if (const auto wait = WaitForCpu(process.pid); wait && *wait > most) {
      most = *wait;
      longest = fmt::format("{} ({})", process.pid, process.name);
    }
  }
  return longest.empty()
             ? ""
             : fmt::format("; process {} has waited {:.1f} s for a CPU", longest, most.count());
}

std::string Job::LauncherText() const {
  const std::vector<HostProcess> family = FamilyOf(launcher_);
  return family.empty() ? std::to_string(launcher_) : family.front().ToText();
}

void Job::Accept() {
  Descriptor peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (!peer || getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
      (credentials.uid != getuid() && credentials.uid != 0)) {
    return;
  }
  if (link_) {
    Send(peer.get(), "error rank 0 of another job has connected to this supervisor");
    return;
  }
  link_ = std::move(peer);
  rank_zero_ = credentials.pid;
}

std::optional<Message> Job::ReceiveFromRankZero() {
  std::optional<Message> message = Receive(link_.get());
  if (!message) {
    link_.Reset();
  }
  return message;
}

void Job::EndRankZero() {
  // Under srun, rank 0 is no descendant of this process. If it lived on, it would continue to
  // accept clients.
  if (!link_) {
    return;
  }
  if (rank_zero_ > 0) {
    kill(rank_zero_, SIGKILL);
  }
  const Clock::time_point begin = Clock::now();
  WaitNotice notice(begin, kPatienceWithProcesses);
  while (link_ && Clock::now() < begin + kTimeToDie) {
    if (notice.IsDue(Clock::now())) {
      proto::LogWarning("supervise: has waited {:.1f} s for the end of rank 0, process {}",
                        notice.SecondsAt(Clock::now()), rank_zero_);
    }
    pollfd ended = {link_.get(), POLLIN, 0};
    if (poll(&ended, 1, 100) > 0) {
      ReceiveFromRankZero();
    }
  }
}

std::vector<HostProcess> Job::ChildrenOfTheJob() const {
  std::vector<HostProcess> children = ChildrenOf(getpid());
  std::erase_if(children, [this](const HostProcess& child) {
    return std::ranges::find(earlier_children_, child.pid, &HostProcess::pid) !=
           earlier_children_.end();
  });
  return children;
}

void Job::EndAdopted() {
  const Clock::time_point begin = Clock::now();
  WaitNotice notice(begin, kPatienceWithProcesses);
  for (Reap();; Reap()) {
    const std::vector<HostProcess> children = ChildrenOfTheJob();
    if (children.empty()) {
      return;
    }
    if (Clock::now() > begin + kTimeToDie) {
      proto::LogWarning("supervise: processes of the job do not end: {}", Names(children));
      return;
    }
    if (notice.IsDue(Clock::now())) {
      proto::LogWarning(
          "supervise: has waited {:.1f} s for the end of what SIGKILL was sent to: {}",
          notice.SecondsAt(Clock::now()), Names(children));
    }
    for (const HostProcess& child : children) {
      kill(child.pid, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace scorecast::launcher
