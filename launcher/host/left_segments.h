#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launcher/host/launcher_variables.h"

namespace scorecast::launcher {

/// Files that were removed.
struct RemovedSegments {
  int files = 0;
  std::uint64_t bytes = 0;  ///< Of memory, which is less than the files' sizes.
};

/// A file that is younger is never removed. Open MPI has a segment open or mapped from the moment
/// when it makes it, so this is far more than needed.
inline constexpr std::chrono::seconds kLeastAgeOfLeftSegments{60};

/// Removes Open MPI's files of shared memory that jobs of this user have left in a directory,
/// because mpirun and all ranks were killed. A file is removed only if the kernel says that no
/// process has it open or mapped, also none of another container that shares the directory.
RemovedSegments RemoveLeftSegments(const std::filesystem::path& directory,
                                   std::chrono::seconds least_age = kLeastAgeOfLeftSegments);

/// Does so on behalf of a job that starts: in /dev/shm, or in the directories that the environment
/// names for Open MPI instead. Does nothing unless this process is the first rank of its host, or
/// has no launcher. Returns lines for the log, one for each directory that had such files.
std::vector<std::string> RemoveLeftSegmentsOfHost(const Environment& environment);

}  // namespace scorecast::launcher
