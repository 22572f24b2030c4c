#pragma once

#include <filesystem>
#include <string>

#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {

/// The private directory of a supervisor, in /dev/shm if that can be written, else in the directory
/// for temporary files. Each job has a directory in it, for the supervisor's socket and for the
/// files of Open MPI: its session directory and the memory that ranks share.
class SupervisorDirectory {
 public:
  /// Makes the directory. Removes directories of this user whose supervisor and launcher are gone:
  /// they ended too abruptly to do it themselves. Throws StartupError.
  SupervisorDirectory();
  ~SupervisorDirectory();
  SupervisorDirectory(const SupervisorDirectory&) = delete;
  SupervisorDirectory& operator=(const SupervisorDirectory&) = delete;

  /// Makes the directory of the next job.
  std::filesystem::path MakeJobDirectory();

  /// A descriptor of the directory's lock. As long as any process has it open, other supervisors do
  /// not remove the directory.
  int lock() const { return lock_.get(); }

 private:
  std::filesystem::path path_;
  Descriptor lock_;
  int jobs_ = 0;
};

/// Opens a Unix socket and listens at the path. Throws StartupError.
Descriptor ListenAt(const std::filesystem::path& path);

}  // namespace scorecast::launcher
