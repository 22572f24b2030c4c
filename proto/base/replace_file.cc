#include "proto/base/replace_file.h"

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/one_line.h"

namespace scorecast::proto {
namespace {

/// Throws if `succeeded` is false. Must directly follow the call that has set errno.
void Require(bool succeeded) {
  if (!succeeded) {
    throw std::system_error(errno, std::generic_category());
  }
}

/// A descriptor that is closed at the end of its scope.
class File {
 public:
  File(const std::filesystem::path& path, int flags) : number_(open(path.c_str(), flags, 0666)) {
    Require(number_ >= 0);
  }
  ~File() { close(number_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int number() const { return number_; }

  /// Whether `path` still names this file.
  bool IsNamed(const std::filesystem::path& path) const {
    struct stat own {};
    struct stat named {};
    Require(fstat(number_, &own) == 0);
    return stat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
           own.st_ino == named.st_ino;
  }

  void Write(std::string_view contents) const {
    Require(ftruncate(number_, 0) == 0);
    while (!contents.empty()) {
      const ssize_t written = write(number_, contents.data(), contents.size());
      Require(written >= 0 || errno == EINTR);
      contents.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    Require(fsync(number_) == 0);
  }

 private:
  const int number_;
};

/// Writes the new file and gives it its name. False if another process has renamed it meanwhile.
bool TryToReplace(const std::filesystem::path& path, std::string_view contents) {
  const std::filesystem::path unnamed = path.string() + ".new";
  const File file(unnamed, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
  // Processes that replace the same file take turns. The lock ends with the descriptor. If the file
  // system has no locks, there is no protection from other processes.
  while (flock(file.number(), LOCK_EX) != 0 && errno == EINTR) {
  }
  if (!file.IsNamed(unnamed)) {
    return false;
  }
  try {
    file.Write(contents);
    Require(rename(unnamed.c_str(), path.c_str()) == 0);
  } catch (...) {
    unlink(unnamed.c_str());
    throw;
  }
  return true;
}

}  // namespace

void ReplaceFile(const std::filesystem::path& path, std::string_view contents) {
  try {
    std::filesystem::path target = path;
    if (std::filesystem::exists(path)) {
      target = std::filesystem::canonical(path);
      // A device or a pipe has readers that would not notice that its name now means another file.
      if (!std::filesystem::is_regular_file(target)) {
        throw std::runtime_error("it is not a regular file");
      }
    }
    while (!TryToReplace(target, contents)) {
    }
    // Only after this does the new name survive a loss of power.
    const std::filesystem::path parent = target.parent_path();
    const File directory(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Require(fsync(directory.number()) == 0 || errno == EINVAL);
  } catch (const std::system_error& fault) {
    throw std::runtime_error("cannot write " + OneLinePath(path.string()) + ": " +
                             fault.code().message());
  } catch (const std::runtime_error& fault) {
    throw std::runtime_error("cannot write " + OneLinePath(path.string()) + ": " + fault.what());
  }
}

}  // namespace scorecast::proto
