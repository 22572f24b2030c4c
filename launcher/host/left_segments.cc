#include "launcher/host/left_segments.h"

#include <csignal>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/address/service_address.h"
#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {
namespace {

/// Bytes in a block of stat(2).
constexpr std::uint64_t kBlock = 512;

/// Names of Open MPI 4.1: vader_segment.HOST.UID.JOB.LOCAL_RANK, which ranks use for messages, and
/// osc_sm.HOST.JOB.RANK.COMMUNICATOR, a window. JOB is hexadecimal.
std::regex SegmentNames() {
  return std::regex("vader_segment\\..+\\." + std::to_string(geteuid()) +
                    "\\.[0-9a-f]+\\.[0-9]+|osc_sm\\..+\\.[0-9a-f]+\\.[0-9]+\\.[0-9]+");
}

/// Whether no other process has the file open or mapped. The system gives a write lease only then,
/// and only for a file of this user: see fcntl(2). Unlike /proc/PID/maps, the lease covers
/// processes that this one cannot see. The lease ends when the descriptor is closed.
bool IsMine(const Descriptor& file) {
  // If a process opens the file now, it waits for the end of the lease, and the kernel tells this
  // process by a signal. By default the signal is SIGIO, which would kill this process. SIGURG is
  // ignored.
  return fcntl(file.get(), F_SETSIG, SIGURG) == 0 && fcntl(file.get(), F_SETLEASE, F_WRLCK) == 0;
}

/// Removes the file if a job has left it. Returns the bytes of memory that it took; nothing if it
/// stays.
std::optional<std::uint64_t> RemoveIfLeft(const std::filesystem::path& path,
                                          std::chrono::seconds least_age) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid()) {
    return std::nullopt;
  }
  const auto age =
      std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(status.st_mtime);
  if (age < least_age || !IsMine(file) || unlink(path.c_str()) != 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status.st_blocks) * kBlock;
}

/// The directories in which Open MPI makes such files.
std::set<std::filesystem::path> SegmentDirectories(const Environment& environment) {
  std::set<std::filesystem::path> directories;
  for (const char* variable :
       {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_osc_sm_backing_directory"}) {
    const char* directory = environment(variable);
    directories.insert(directory != nullptr ? directory : "/dev/shm");
  }
  return directories;
}

/// Whether this process is the first rank of its host, or a process without a launcher.
bool IsFirstRankOfHost(const Environment& environment) {
  // Ranks of an mpirun in a Slurm job have Slurm's variable, too, inherited from mpirun's daemon.
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
    if (const char* rank = environment(variable)) {
      return std::string_view(rank) == "0";
    }
  }
  return true;
}

}  // namespace

RemovedSegments RemoveLeftSegments(const std::filesystem::path& directory,
                                   std::chrono::seconds least_age) {
  const std::regex names = SegmentNames();
  RemovedSegments removed;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (!std::regex_match(entry.path().filename().string(), names)) {
      continue;
    }
    if (const std::optional<std::uint64_t> bytes = RemoveIfLeft(entry.path(), least_age)) {
      ++removed.files;
      removed.bytes += *bytes;
    }
  }
  return removed;
}

std::vector<std::string> RemoveLeftSegmentsOfHost(const Environment& environment) {
  std::vector<std::string> lines;
  if (!IsFirstRankOfHost(environment)) {
    return lines;
  }
  for (const std::filesystem::path& directory : SegmentDirectories(environment)) {
    const RemovedSegments removed = RemoveLeftSegments(directory);
    if (removed.files > 0) {
      lines.push_back(
          fmt::format("removed {} file{} with {:.1f} MB from {} of host {}: shared "
                      "memory of Open MPI that killed jobs have left",
                      removed.files, removed.files == 1 ? "" : "s",
                      static_cast<double>(removed.bytes) / 1e6, directory.string(), OwnHostName()));
    }
  }
  return lines;
}

}  // namespace scorecast::launcher
