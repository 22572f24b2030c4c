#include "proto/base/regular_file.h"

#include <cerrno>
#include <cstddef>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::proto {
namespace {

std::string ErrorText(int error) { return std::generic_category().message(error); }

/// Why a file cannot be opened.
std::string OpenFault(const std::filesystem::path& path, int error) {
  if (error == ENXIO) {  // A socket, or a device that does not exist.
    return "not a regular file";
  }
  std::error_code ignored;
  if (error == ENOENT && std::filesystem::is_symlink(path, ignored)) {
    return "it is a link to a file that does not exist";
  }
  return "cannot be opened: " + ErrorText(error);
}

}  // namespace

bool FileExists(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::none) {
    throw StartupError(OneLinePath(path.string()) + ": " + error.message());
  }
  return std::filesystem::exists(status);
}

// The file is opened without blocking: opening a FIFO would otherwise wait for a writer before the
// FIFO can be refused.
RegularFile::RegularFile(const std::filesystem::path& path)
    : name_(OneLinePath(path.string())),
      descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (descriptor_ < 0) {
    throw StartupError(name_ + ": " + OpenFault(path, errno));
  }
  const bool is_known = fstat(descriptor_, &status_) == 0;
  const int error = errno;
  if (!is_known || !S_ISREG(status_.st_mode)) {
    close(descriptor_);
    throw StartupError(
        name_ + ": " +
        (is_known ? "not a regular file" : "its size cannot be read: " + ErrorText(error)));
  }
}

RegularFile::~RegularFile() { close(descriptor_); }

std::string ReadRegularFile(const std::filesystem::path& path, std::int64_t most_bytes) {
  const RegularFile file(path);
  const auto size = static_cast<std::int64_t>(file.status().st_size);
  if (size > most_bytes) {
    throw StartupError(file.name() + ": " + Count(size, "byte") + " is more than the limit of " +
                       std::to_string(most_bytes));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = read(file.descriptor(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      throw StartupError(file.name() + ": cannot be read: " +
                         (count < 0 ? ErrorText(errno) : "it has become shorter meanwhile"));
    }
    done += static_cast<std::size_t>(count);
  }
  return text;
}

}  // namespace scorecast::proto
