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
/// This process adopts processes whose parents end (PR_SET_CHILD_SUBREAPER), so ranks whose mpirun
/// is gone become its children, and it can end them. Children that it had before, for example
/// because a script has started programs before it executed this one, are left alone.
class Job {
 public:
  /// Starts the launcher, in a process group of its own, so that Ctrl-C reaches only this process.
  /// Its standard input is empty.
  Job(const std::vector<std::string>& command, SupervisorDirectory& directory);
  /// Ends what is left of the job, and removes its directory.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Sends a signal to the launcher; SIGKILL to its whole process group.
  void Signal(int signal) const;
  /// Sends a signal to rank 0 if it is connected. The launcher would send it to all ranks, and kill
  /// those that have no handler for it yet. It gets the signal only if this process cannot see rank
  /// 0, because that is in another PID namespace.
  void SignalRankZero(int signal) const;
  /// Collects children that have ended. To be called on SIGCHLD.
  void Reap();
  /// The launcher's exit code, 128 + N if signal N ended it; nothing while it runs.
  std::optional<int> exit_code() const { return exit_code_; }

  /// "4711 (mpirun, state S)".
  std::string LauncherText() const;
  /// "; process 4712 (scorecast) has waited 3.2 s for a CPU": the launcher, or its descendant on
  /// this host, that has waited longest because others had the CPUs. Empty if none has waited for
  /// more than a second.
  std::string CpuShortage() const;

  /// Readable if a process wants to connect.
  int listener() const { return listener_.get(); }
  /// Connects rank 0. Refuses processes of other users, and further processes.
  void Accept();
  /// The connection to rank 0; -1 if there is none.
  int link() const { return link_.get(); }
  /// Rank 0's next message; nothing if the connection has ended, and `link` is -1 then.
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
  /// Valid while `link_` is open: the process is alive then. 0 if it cannot be seen.
  pid_t rank_zero_ = 0;
};

}  // namespace scorecast::launcher
