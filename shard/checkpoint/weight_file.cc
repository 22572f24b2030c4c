#include "shard/checkpoint/weight_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "proto/base/check.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::shard {
namespace {

constexpr std::size_t kMaxPath = 4096;

std::string ErrnoText(int error) { return std::generic_category().message(error); }

}  // namespace

// Opened without blocking, because opening a FIFO would wait for a writer before it can be refused.
WeightFile::WeightFile(const std::filesystem::path& path)
    : name_(proto::OneLine(path.string(), kMaxPath)),
      fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) {
    throw proto::StartupError(name_ + ": cannot be opened: " + ErrnoText(errno));
  }
  const bool is_known = ::fstat(fd_, &opened_) == 0;
  const int error = errno;
  if (!is_known || !S_ISREG(opened_.st_mode)) {
    ::close(fd_);
    throw proto::StartupError(
        name_ + ": " +
        (is_known ? "not a regular file" : "its size cannot be read: " + ErrnoText(error)));
  }
}

WeightFile::~WeightFile() { ::close(fd_); }

void WeightFile::Read(std::int64_t offset, std::span<std::byte> out) const {
  proto::Check(
      offset >= 0 && offset <= size() && static_cast<std::int64_t>(out.size()) <= size() - offset,
      "the bytes read lie in the file");
  const std::span<const std::byte> all = out;
  const std::int64_t begin = offset;
  while (!out.empty()) {
    const ssize_t count = ::pread(fd_, out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      throw FileChanged(name_ + ": cannot be read any more: " + ErrnoText(errno));
    }
    if (count == 0) {
      throw FileChanged(TruncatedText());
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  if (observer_ != nullptr) {
    observer_->Saw(begin, all);
  }
}

std::string WeightFile::TruncatedText() const {
  return name_ + ": truncated to less than " + std::to_string(size()) + " bytes while it is in use";
}

void WeightFile::CheckUnchanged() const {
  struct stat now {};
  if (::fstat(fd_, &now) != 0) {
    throw FileChanged(name_ + ": cannot be read any more: " + ErrnoText(errno));
  }
  if (now.st_size < opened_.st_size) {
    throw FileChanged(TruncatedText());
  }
  // Not st_ctime, which changes if the file is renamed or deleted.
  if (now.st_size != opened_.st_size || now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec) {
    throw FileChanged(name_ + ": overwritten while it is in use");
  }
}

void WeightFile::Prefetch(std::int64_t offset, std::int64_t bytes) const {
  // This is advice: if the system ignores it, later reads only take longer.
  ::posix_fadvise(fd_, offset, bytes, POSIX_FADV_WILLNEED);
}

}  // namespace scorecast::shard
