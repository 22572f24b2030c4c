#include "tests/e2e/process.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// Time that a process has after SIGTERM.
constexpr auto kTimeToEnd = std::chrono::seconds(10);

/// Gives this test's jobs a directory for temporary files of their own. By default, all Open MPI
/// jobs of a user on a host share one; a job that ends may remove it while another one starts,
/// which then fails.
void UseOwnTempDirectory() {
  static const reference::TempDirectory directory;
  setenv("TMPDIR", directory.path().c_str(), 1);
}

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe MakePipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  return {fds[0], fds[1]};
}

void Close(int& fd) {
  if (fd >= 0) {
    close(fd);
    fd = -1;
  }
}

[[noreturn]] void Exec(const Command& command, int in, int out, int err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // The child ends when this test does.
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  for (const auto& [name, value] : command.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

/// Whether the signal is in a set of the process's status, which is a mask in hexadecimal digits.
bool HasSignal(pid_t pid, const std::string& set, int signal) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string name; file >> name;) {
    if (name == set) {
      std::uint64_t mask = 0;
      file >> std::hex >> mask;
      return (mask >> (signal - 1) & 1) != 0;
    }
  }
  return false;
}

}  // namespace

Process::Process(const Command& command) : deadline_(Clock::now() + command.timeout) {
  UseOwnTempDirectory();
  // A write to a child that has ended must not kill this process.
  signal(SIGPIPE, SIG_IGN);
  Pipe in = MakePipe();
  Pipe out = MakePipe();
  Pipe err = MakePipe();
  pid_ = fork();
  if (pid_ < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (pid_ == 0) {
    Exec(command, in.read, out.write, err.write);
  }
  // The child does the same, so that the group exists before either continues.
  setpgid(pid_, pid_);
  Close(in.read);
  Close(out.write);
  Close(err.write);
  in_ = in.write;
  out_ = out.read;
  err_ = err.read;
  fcntl(in_, F_SETFL, O_NONBLOCK);
}

Process::~Process() {
  Kill();
  Close(in_);
  Close(out_);
  Close(err_);
}

std::string Process::ReadLine() {
  for (;;) {
    const std::size_t end = out_text_.find('\n');
    if (end != std::string::npos) {
      std::string line = out_text_.substr(0, end);
      out_text_.erase(0, end + 1);
      return line;
    }
    if (!Pump()) {
      return {};
    }
  }
}

std::string Process::ErrorLineWith(const std::string& part) {
  for (;;) {
    const std::size_t found = err_text_.find(part);
    const std::size_t end = err_text_.find('\n', found);  // npos if `found` is npos.
    if (end != std::string::npos) {
      const std::size_t newline = err_text_.rfind('\n', found);
      const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
      return err_text_.substr(begin, end - begin);
    }
    if (err_ < 0 || !Pump()) {
      return {};
    }
  }
}

void Process::SetTimeLeft(std::chrono::seconds time) { deadline_ = Clock::now() + time; }

ProcessResult Process::Wait() {
  CloseInput();
  while (Pump()) {
  }
  ProcessResult result;
  int status = 0;
  // The child has closed its outputs, so it is about to end. The wait still has a deadline.
  while (!timed_out_ && waitpid(pid_, &status, WNOHANG) == 0) {
    timed_out_ = Clock::now() >= deadline_;
    usleep(1000);
  }
  if (timed_out_) {
    Kill();
    result.signal = SIGKILL;
  } else {
    pid_ = -1;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  result.timed_out = timed_out_;
  result.out = std::move(out_text_);
  result.err = std::move(err_text_);
  return result;
}

bool Process::Pump() {
  if (input_ends_ && input_.empty()) {
    Close(in_);
  }
  if (out_ < 0 && err_ < 0) {
    return false;
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  if (left <= 0) {
    timed_out_ = true;
    return false;
  }
  // poll() ignores negative descriptors.
  std::array<pollfd, 3> fds{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0},
                            pollfd{input_.empty() ? -1 : in_, POLLOUT, 0}};
  if (poll(fds.data(), fds.size(), static_cast<int>(left)) < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
  if (fds[0].revents != 0) {
    ReadSome(out_, out_text_);
  }
  if (fds[1].revents != 0) {
    ReadSome(err_, err_text_);
  }
  if (fds[2].revents != 0) {
    WriteSome();
  }
  return true;
}

void Process::WriteSome() {
  const ssize_t written = write(in_, input_.data(), input_.size());
  if (written > 0) {
    input_.erase(0, static_cast<std::size_t>(written));
  } else if (errno != EAGAIN && errno != EINTR) {
    input_.clear();
    Close(in_);
  }
}

void Process::ReadSome(int& fd, std::string& to) {
  std::array<char, 65536> buffer{};
  const ssize_t bytes = read(fd, buffer.data(), buffer.size());
  if (bytes > 0) {
    to.append(buffer.data(), static_cast<std::size_t>(bytes));
  } else if (bytes == 0 || errno != EINTR) {
    Close(fd);
  }
}

void Process::Kill() {
  if (pid_ < 0) {
    return;
  }
  const std::vector<pid_t> descendants = DescendantsOf(pid_);
  // Not SIGKILL, because mpirun would leave its ranks' shared memory behind.
  kill(pid_, SIGTERM);
  if (!EndsWithin(kTimeToEnd)) {
    kill(-pid_, SIGKILL);
  }
  // Ranks are not in the group: mpirun gives each a process group of its own.
  for (const pid_t descendant : descendants) {
    kill(descendant, SIGKILL);
  }
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool Process::EndsWithin(std::chrono::seconds time) const {
  const auto deadline = Clock::now() + time;
  while (Clock::now() < deadline) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid_) {
      return true;
    }
    usleep(5000);
  }
  return false;
}

ProcessResult Run(const Command& command, const std::string& input) {
  Process process(command);
  process.Send(input);
  return process.Wait();
}

std::vector<pid_t> DescendantsOf(pid_t pid) {
  std::vector<pid_t> result;
  std::error_code gone;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) {
      result.push_back(child);
      const std::vector<pid_t> below = DescendantsOf(child);
      result.insert(result.end(), below.begin(), below.end());
    }
  }
  return result;
}

std::string ProgramOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

bool IsRunning(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  // "pid (name) state …". The name may have any characters.
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

bool Catches(pid_t pid, int signal) { return HasSignal(pid, "SigCgt:", signal); }

bool Ignores(pid_t pid, int signal) { return HasSignal(pid, "SigIgn:", signal); }

}  // namespace scorecast::testing
