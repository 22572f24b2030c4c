#include "coordinator/transports/batch/output_lock.h"

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

[[noreturn]] void Fail(const std::filesystem::path& path, int error) {
  throw proto::StartupError("cannot lock " + proto::OneLinePath(path.string()) + ": " +
                            std::generic_category().message(error));
}

/// False if another process holds the lock.
bool TryLock(int fd, const std::filesystem::path& path) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  // The lock of an open file, not of the process: nothing else that closes the file releases it.
  if (fcntl(fd, F_OFD_SETLK, &whole) == 0) {
    return true;
  }
  if (errno == EAGAIN || errno == EACCES) {
    return false;
  }
  if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL) {
    spdlog::warn("the file system of {} has no locks: nothing keeps a second run away",
                 proto::OneLinePath(path.string()));
    return true;
  }
  Fail(path, errno);
}

/// Whether the path still names the open file. The last holder may have removed it meanwhile.
bool IsNamed(int fd, const std::filesystem::path& path) {
  struct stat own {};
  struct stat named {};
  return fstat(fd, &own) == 0 && stat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
         own.st_ino == named.st_ino;
}

/// What the holder wrote into the file.
std::string HolderText(int fd) {
  std::array<char, 256> text{};
  const ssize_t bytes = pread(fd, text.data(), text.size(), 0);
  return bytes > 0 ? proto::OneLine({text.data(), static_cast<std::size_t>(bytes)})
                   : std::string("another process");
}

void WriteHolder(int fd) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string text =
      "process " + std::to_string(getpid()) + " on host " + std::string(host.data());
  // Only for the message of another process.
  static_cast<void>(ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) > 0);
}

}  // namespace

OutputLock::OutputLock(const std::filesystem::path& output) : path_(output.string() + ".lock") {
  for (;;) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) {
      Fail(path_, errno);
    }
    try {
      if (!TryLock(fd_, path_)) {
        throw proto::StartupError(proto::OneLinePath(output.string()) + " is being written by " +
                                  HolderText(fd_));
      }
    } catch (...) {
      close(fd_);
      throw;
    }
    if (IsNamed(fd_, path_)) {
      break;
    }
    close(fd_);
  }
  WriteHolder(fd_);
}

OutputLock::~OutputLock() {
  // While the lock is held: the file may be another's as soon as it is not.
  unlink(path_.c_str());
  close(fd_);
}

}  // namespace scorecast::coordinator
