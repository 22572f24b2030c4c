#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "launcher/supervisor/descriptor.h"
#include "launcher/supervisor/job_directory.h"
#include "launcher/supervisor/message.h"
#include "launcher/supervisor/processes.h"

namespace scorecast::launcher {

/// The processes of one job: the launcher (mpirun, srun), which is a child of this process, rank 0,
/// which connects to this process, and whatever they have started on this host.
///
/// This process adopts processes whose parents end (PR_SET_CHILD_SUBREAPER). If mpirun is gone, its
/// ranks therefore become children of this process, which can end them. Earlier children of this
/// process are left alone. It has some if, for example, a script has started programs before it
/// executed this one.
class Job {
 public:
  /// Starts the launcher, in a process group of its own, so that Ctrl-C reaches only this process.
  /// Its standard input is empty.
  Job(const std::vector<std::string>& command, SupervisorDirectory& directory);
  /// Ends all processes of the job that are left, and removes the job's directory.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Sends a signal to the launcher; SIGKILL to its whole process group.
  void Signal(int signal) const;
  /// Sends a signal to rank 0 if it is connected. The launcher is avoided, because it would send
  /// the signal to all ranks, and would kill those that have no handler for it yet. The launcher
  /// gets the signal only if rank 0 is in another PID namespace, so that this process cannot see
  /// it.
  void SignalRankZero(int signal) const;
  /// Collects children that have ended. To be called on SIGCHLD.
  void Reap();
  /// The launcher's exit code, 128 + N if signal N ended it; nothing while it runs.
  std::optional<int> exit_code() const { return exit_code_; }

  /// "4711 (mpirun, state S)".
  std::string LauncherText() const;
  /// E.g. "; process 4712 (scorecast) has waited 3.2 s for a CPU". The process is the one that has
  /// waited longest because others had the CPUs: the launcher, or one of its descendants on this
  /// host. Empty if none has waited for more than a second.
  std::string CpuShortage() const;

  /// Readable if a process wants to connect.
  int listener() const { return listener_.get(); }
  /// Connects rank 0. Refuses processes of other users, and any further process.
  void Accept();
  /// The connection to rank 0; -1 if there is none.
  int link() const { return link_.get(); }
  /// Rank 0's next message. Nothing if the connection has ended; `link` is then -1.
  std::optional<Message> ReceiveFromRankZero();

 private:
  void EndRankZero();
  void EndAdopted();
  std::vector<HostProcess> ChildrenOfTheJob() const;

  std::filesystem::path directory_;
  Descriptor listener_;
  std::vector<HostProcess> earlier_children_;  ///< Not of the job, and not yet collected.
  pid_t launcher_ = -1;
  std::optional<int> exit_code_;
  Descriptor link_;
  /// Process id of rank 0; 0 if this process cannot see it. Valid while `link_` is open, because
  /// rank 0 is then alive.
  pid_t rank_zero_ = 0;
};

}  // namespace scorecast::launcher
