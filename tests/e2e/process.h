#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace scorecast::testing {

struct Command {
  std::vector<std::string> arguments;  ///< The program, found along PATH, and its arguments.
  std::vector<std::pair<std::string, std::string>> environment;  ///< Added to this process's own.
  std::chrono::seconds timeout{60};  ///< From start to end. The process is killed after it.
};

struct ProcessResult {
  int exit_code = -1;  ///< -1 if a signal ended the process.
  int signal = 0;      ///< The signal that ended the process, or 0.
  bool timed_out = false;
  std::string out;
  std::string err;
};

/// A child process in a process group of its own, with pipes on its three standard streams. The
/// destructor ends the child and its descendants. The child also gets SIGTERM if this process ends.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  /// Queues text for the child's standard input. It is written while this object reads.
  void Send(const std::string& text) { input_ += text; }
  void CloseInput() { input_ends_ = true; }

  /// The next line of standard output, without the newline. Empty if the output or the time ends
  /// before a line is complete.
  std::string ReadLine();

  /// The first line of standard error that contains `part`. Empty if standard error or the time
  /// ends before it. Wait still returns the text read here.
  std::string ErrorLineWith(const std::string& part);
  /// The part of standard error read so far.
  const std::string& error_text() const { return err_text_; }

  /// Replaces the timeout: the child may run for `time` from now.
  void SetTimeLeft(std::chrono::seconds time);

  /// Closes the input, reads both outputs to their ends and reaps the child. `out` is the text that
  /// ReadLine has not returned. Also waits for descendants that hold an output open; if one stays
  /// behind, the result is `timed_out`.
  ProcessResult Wait();

 private:
  /// Waits until a pipe is ready, then reads or writes it. False if both outputs have ended or the
  /// time is over.
  bool Pump();
  void WriteSome();
  static void ReadSome(int& fd, std::string& to);
  void Kill();
  bool EndsWithin(std::chrono::seconds time) const;

  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point deadline_;
  bool timed_out_ = false;
  bool input_ends_ = false;
  int in_ = -1;  // This side's ends of the pipes; -1 if closed.
  int out_ = -1;
  int err_ = -1;
  std::string input_;
  std::string out_text_;
  std::string err_text_;
};

/// Runs a command to its end.
ProcessResult Run(const Command& command, const std::string& input = {});

/// Children, their children, and so on.
std::vector<pid_t> DescendantsOf(pid_t pid);

/// The name of a process's program, cut to 15 characters. Empty if there is no such process.
std::string ProgramOf(pid_t pid);

/// False for zombies.
bool IsRunning(pid_t pid);

/// Whether the process has a handler for the signal.
bool Catches(pid_t pid, int signal);
/// Whether the process ignores the signal.
bool Ignores(pid_t pid, int signal);

}  // namespace scorecast::testing
