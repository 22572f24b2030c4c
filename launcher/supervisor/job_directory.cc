#include "launcher/supervisor/job_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::launcher {
namespace {

constexpr const char* kLock = "lock";

std::filesystem::path Base() {
  if (access("/dev/shm", W_OK | X_OK) == 0) {
    return "/dev/shm";
  }
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr ? temporary : "/tmp";
}

std::string Prefix() { return "scorecast-supervise-" + std::to_string(getuid()) + "-"; }

/// Removes a directory if it is this user's and no process holds its lock.
void RemoveIfAbandoned(const std::filesystem::path& directory) {
  struct stat status {};
  if (lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != getuid()) {
    return;
  }
  const Descriptor lock(open((directory / kLock).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
}

}  // namespace

SupervisorDirectory::SupervisorDirectory() {
  const std::filesystem::path base = Base();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    if (entry.path().filename().string().starts_with(Prefix())) {
      RemoveIfAbandoned(entry.path());
    }
  }
  std::string name = base / (Prefix() + "XXXXXX");
  if (mkdtemp(name.data()) == nullptr) {
    throw proto::StartupError("cannot make " + name + ": " + std::strerror(errno));
  }
  path_ = name;
  // The lock gets its name only when it is held. Otherwise another supervisor could take the
  // directory for an abandoned one.
  const std::filesystem::path unnamed = path_ / "lock.new";
  lock_ = Descriptor(open(unnamed.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!lock_ || flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 ||
      rename(unnamed.c_str(), (path_ / kLock).c_str()) != 0) {
    throw proto::StartupError("cannot lock " + path_.string() + ": " + std::strerror(errno));
  }
}

SupervisorDirectory::~SupervisorDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path SupervisorDirectory::MakeJobDirectory() {
  const std::filesystem::path directory = path_ / std::to_string(++jobs_);
  if (mkdir(directory.c_str(), 0700) != 0) {
    throw proto::StartupError("cannot make " + directory.string() + ": " + std::strerror(errno));
  }
  return directory;
}

Descriptor ListenAt(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof(address.sun_path)) {
    throw proto::StartupError("the path of a socket is too long: " + path.string());
  }
  std::strcpy(address.sun_path, path.c_str());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(socket.get(), 4) != 0) {
    throw proto::StartupError("cannot listen at " + path.string() + ": " + std::strerror(errno));
  }
  return socket;
}

}  // namespace scorecast::launcher
