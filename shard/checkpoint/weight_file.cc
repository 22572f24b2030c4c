#include "shard/checkpoint/weight_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "proto/base/check.h"
#include "proto/base/count.h"

namespace scorecast::shard {
namespace {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

}  // namespace

void WeightFile::Read(std::int64_t offset, std::span<std::byte> out) const {
  proto::Check(
      offset >= 0 && offset <= size() && static_cast<std::int64_t>(out.size()) <= size() - offset,
      "the bytes read lie in the file");
  const std::span<const std::byte> all = out;
  const std::int64_t begin = offset;
  while (!out.empty()) {
    const ssize_t count = ::pread(file_.descriptor(), out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      throw FileChanged(name() + ": cannot be read any more: " + ErrnoText(errno));
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
  return name() + ": truncated to less than " + proto::Count(size(), "byte") +
         " while it is in use";
}

void WeightFile::CheckUnchanged() const {
  struct stat now {};
  if (::fstat(file_.descriptor(), &now) != 0) {
    throw FileChanged(name() + ": cannot be read any more: " + ErrnoText(errno));
  }
  const struct stat& opened = file_.status();
  if (now.st_size < opened.st_size) {
    throw FileChanged(TruncatedText());
  }
  // Not st_ctime, which changes if the file is renamed or deleted.
  if (now.st_size != opened.st_size || now.st_mtim.tv_sec != opened.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != opened.st_mtim.tv_nsec) {
    throw FileChanged(name() + ": overwritten while it is in use");
  }
}

void WeightFile::Prefetch(std::int64_t offset, std::int64_t bytes) const {
  // This is advice: if the system ignores it, later reads only take longer.
  ::posix_fadvise(file_.descriptor(), offset, bytes, POSIX_FADV_WILLNEED);
}

}  // namespace scorecast::shard
