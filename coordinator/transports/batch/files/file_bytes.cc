#include "coordinator/transports/batch/files/file_bytes.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

std::string ErrorText(int error) { return std::generic_category().message(error); }

/// An open file. Standard input and output stay open.
class FileDescriptor {
 public:
  FileDescriptor(int fd, bool is_owned) : fd_(fd), is_owned_(is_owned) {}
  ~FileDescriptor() {
    if (is_owned_) {
      close(fd_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }

  std::optional<std::int64_t> RegularSize() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
      return std::nullopt;
    }
    return status.st_size;
  }

  /// After a call failed with errno: waits if it can be repeated. False if it cannot.
  bool MayRepeat(short event) const {
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Whoever shares a terminal or pipe with this process may have made it nonblocking.
      pollfd waiting{fd_, event, 0};
      return poll(&waiting, 1, -1) >= 0 || errno == EINTR;
    }
    return errno == EINTR;
  }

 private:
  const int fd_;
  const bool is_owned_;
};

class FileSource : public ByteSource {
 public:
  FileSource(int fd, bool is_owned) : file_(fd, is_owned), size_(file_.RegularSize()) {}

  proto::Expected<std::size_t, std::string> Read(std::span<char> to) override {
    for (;;) {
      const ssize_t bytes = read(file_.get(), to.data(), to.size());
      if (bytes >= 0) {
        return static_cast<std::size_t>(bytes);
      }
      if (!file_.MayRepeat(POLLIN)) {
        return proto::Unexpected(ErrorText(errno));
      }
    }
  }

  std::optional<std::int64_t> size() const override { return size_; }

 private:
  const FileDescriptor file_;
  const std::optional<std::int64_t> size_;
};

class FileSink : public ByteSink {
 public:
  /// `may_cut`: whether the file may be cut if it is a regular one.
  FileSink(int fd, bool is_owned, bool may_cut) : file_(fd, is_owned), may_cut_(may_cut) {}

  std::string Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = write(file_.get(), bytes.data(), bytes.size());
      if (written >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (!file_.MayRepeat(POLLOUT)) {
        return ErrorText(errno);
      }
    }
    return "";
  }

  std::string Sync() override {
    // EINVAL and EROFS: a pipe or another file that has nothing to synchronize.
    const bool failed = fdatasync(file_.get()) != 0 && errno != EINVAL && errno != EROFS;
    return failed ? ErrorText(errno) : "";
  }

  std::optional<std::int64_t> size() const override {
    return may_cut_ ? file_.RegularSize() : std::nullopt;
  }

  std::string CutTo(std::int64_t size) override {
    // If the host loses power, the file is not longer than its run's state says.
    const bool failed = ftruncate(file_.get(), size) != 0 || fsync(file_.get()) != 0 ||
                        lseek(file_.get(), size, SEEK_SET) != size;
    return failed ? ErrorText(errno) : "";
  }

 private:
  const FileDescriptor file_;
  const bool may_cut_;
};

[[noreturn]] void FailToRead(const std::filesystem::path& path, int error) {
  throw proto::StartupError("cannot read " + path.string() + ": " + ErrorText(error));
}

[[noreturn]] void FailToWrite(const std::filesystem::path& path, int error) {
  throw proto::StartupError("cannot write " + path.string() + ": " + ErrorText(error));
}

bool IsDirectory(const std::filesystem::path& path) {
  std::error_code fault;
  return std::filesystem::is_directory(path, fault);
}

/// 0 if this process may use the file in this way, otherwise errno.
int AccessFault(const std::filesystem::path& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

std::unique_ptr<ByteSource> OpenToRead(const std::filesystem::path& path) {
  if (path == "-") {
    return std::make_unique<FileSource>(STDIN_FILENO, false);
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  if (fd < 0) {
    FailToRead(path, error);
  }
  auto source = std::make_unique<FileSource>(fd, true);
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    FailToRead(path, EISDIR);
  }
  return source;
}

std::unique_ptr<ByteSink> OpenToWrite(const std::filesystem::path& path) {
  if (path == "-") {
    // What standard output had before it was redirected to this program is not ours to cut.
    return std::make_unique<FileSink>(STDOUT_FILENO, false, false);
  }
  constexpr mode_t kMode = 0666;  // As far as the umask allows.
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode);
  const int error = errno;
  if (fd < 0) {
    FailToWrite(path, error);
  }
  return std::make_unique<FileSink>(fd, true, true);
}

void CheckReadable(const std::filesystem::path& path) {
  if (path == "-") {
    return;
  }
  const int error = AccessFault(path, R_OK);
  if (error != 0 || IsDirectory(path)) {
    FailToRead(path, error != 0 ? error : EISDIR);
  }
}

void CheckWritable(const std::filesystem::path& path) {
  if (path == "-") {
    return;
  }
  if (IsDirectory(path)) {
    FailToWrite(path, EISDIR);
  }
  int error = AccessFault(path, W_OK);
  if (error == ENOENT) {
    const std::filesystem::path parent = path.parent_path();
    error = AccessFault(parent.empty() ? "." : parent, W_OK | X_OK);
  }
  if (error != 0) {
    FailToWrite(path, error);
  }
}

}  // namespace scorecast::coordinator
