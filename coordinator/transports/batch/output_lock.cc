#include "coordinator/transports/batch/output_lock.h"

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

std::filesystem::path LockPath(const std::filesystem::path& output) {
  return output.string() + ".lock";
}

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
    proto::LogWarning("the file system of {} has no locks: nothing keeps a second run away",
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

struct FileCloser {
  int fd;
  ~FileCloser() { close(fd); }
};

/// What the holder wrote into the file.
std::string HolderText(int fd) {
  std::array<char, 256> text{};
  const ssize_t bytes = pread(fd, text.data(), text.size(), 0);
  return bytes > 0 ? proto::OneLine({text.data(), static_cast<std::size_t>(bytes)})
                   : std::string("another process");
}

[[noreturn]] void FailAsHeld(int fd, const std::filesystem::path& output) {
  throw proto::StartupError(proto::OneLinePath(output.string()) + " is being written by " +
                            HolderText(fd));
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

OutputLock::OutputLock(const std::filesystem::path& output) : path_(LockPath(output)) {
  for (;;) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) {
      Fail(path_, errno);
    }
    try {
      if (!TryLock(fd_, path_)) {
        FailAsHeld(fd_, output);
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

void OutputLock::CheckFree(const std::filesystem::path& output) {
  const std::filesystem::path path = LockPath(output);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT) {
      Fail(path, errno);
    }
    const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
    if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      Fail(path, errno);
    }
    return;
  }
  const FileCloser closer{fd};
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  // A file system without locks keeps no run away.
  if (fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK) {
    FailAsHeld(fd, output);
  }
}

OutputLock::~OutputLock() {
  // While the lock is held: the file may be another's as soon as it is not.
  unlink(path_.c_str());
  close(fd_);
}

}  // namespace scorecast::coordinator
