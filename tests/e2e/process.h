#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace scorecast::testing {

struct Command {
  std::vector<std::string> arguments;  ///< The program, found along PATH, and its arguments.
  std::vector<std::pair<std::string, std::string>> environment;  ///< Beside this process's own.
  std::chrono::seconds timeout{60};  ///< Of the whole life. What runs longer is killed.
};

struct ProcessResult {
  int exit_code = -1;  ///< -1 where a signal ended it.
  int signal = 0;      ///< That signal, or 0.
  bool timed_out = false;
  std::string out;
  std::string err;
};

/// A child process in a process group of its own, with pipes on its three standard streams.
/// Whatever of it and its descendants is alive at the end of this object's life, or of this
/// process's, is ended.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  /// Queues text for its standard input. It is written while this object reads.
  void Send(const std::string& text) { input_ += text; }
  void CloseInput() { input_ends_ = true; }

  /// The next line of its standard output, without the newline; empty where the output ended or the
  /// time is over.
  std::string ReadLine();

  /// The first line of its standard error with this in it; empty where the error output ended, or
  /// the time is over, before. What is read stays for Wait.
  std::string ErrorLineWith(const std::string& part);
  /// What it has written to standard error so far, as far as it was read.
  const std::string& error_text() const { return err_text_; }

  /// From now on it has this time and no more.
  void SetTimeLeft(std::chrono::seconds time);

  /// Closes the input, reads both outputs to their ends and reaps the child. `out` is what ReadLine
  /// has not taken. A descendant that holds an output open is waited for too, so that one left
  /// behind shows as `timed_out`.
  ProcessResult Wait();

 private:
  /// Moves bytes until there is something new; false when both outputs have ended or time is over.
  bool Pump();
  void WriteSome();
  static void ReadSome(int& fd, std::string& to);
  void Kill();
  bool EndsWithin(std::chrono::seconds time) const;

  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point deadline_;
  bool timed_out_ = false;
  bool input_ends_ = false;
  int in_ = -1;  // the pipes' ends on this side, -1 when closed
  int out_ = -1;
  int err_ = -1;
  std::string input_;
  std::string out_text_;
  std::string err_text_;
};

/// Runs a command to its end.
ProcessResult Run(const Command& command, const std::string& input = {});

/// Children of children too.
std::vector<pid_t> DescendantsOf(pid_t pid);

/// The name of a process's program, cut to 15 characters; empty where there is no such process.
std::string ProgramOf(pid_t pid);

/// False for zombies.
bool IsRunning(pid_t pid);

}  // namespace scorecast::testing
