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
  std::uint64_t bytes = 0;  ///< Bytes of memory; less than the files' sizes.
};

/// A younger file is never removed. This is far longer than needed, because Open MPI has a segment
/// open or mapped from the moment when it makes it.
inline constexpr std::chrono::seconds kLeastAgeOfLeftSegments{60};

/// Removes files of Open MPI's shared memory in a directory that jobs of this user have left,
/// because mpirun and all ranks were killed. A file is removed only if the kernel says that no
/// process has it open or mapped, not even in another container that shares the directory.
RemovedSegments RemoveLeftSegments(const std::filesystem::path& directory,
                                   std::chrono::seconds least_age = kLeastAgeOfLeftSegments);

/// Calls RemoveLeftSegments for a job that starts: in /dev/shm, or in the directories that the
/// environment names for Open MPI instead. Does nothing if this process is not the first rank of
/// its host and has a launcher. Returns lines for the log, one for each directory that had such
/// files.
std::vector<std::string> RemoveLeftSegmentsOfHost(const Environment& environment);

}  // namespace scorecast::launcher
