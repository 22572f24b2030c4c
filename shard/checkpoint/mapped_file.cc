#include "shard/checkpoint/mapped_file.h"

#include <cerrno>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/check.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::shard {
namespace {

[[noreturn]] void Fail(const std::filesystem::path& path, const std::string& what) {
  throw proto::StartupError(proto::OneLine(path.string(), 4096) + ": " + what);
}

[[noreturn]] void FailWithErrno(const std::filesystem::path& path, const std::string& what) {
  const int error = errno;
  Fail(path, what + ": " + std::generic_category().message(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile MappedFile::Open(const std::filesystem::path& path) {
  // Non-blocking, because opening a FIFO would wait for a writer before it can be refused.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    FailWithErrno(path, "cannot be opened");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    FailWithErrno(path, "its size cannot be read");
  }
  if (!S_ISREG(status.st_mode)) {
    Fail(path, "not a regular file");
  }
  if (status.st_size == 0) {  // mmap refuses a length of 0.
    return MappedFile({});
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) {
    FailWithErrno(path, "cannot be mapped (" + std::to_string(size) + " bytes)");
  }
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

void MappedFile::Release(std::span<const std::byte> range) const {
  if (range.empty()) {
    return;
  }
  const std::less_equal<const std::byte*> not_after;
  proto::Check(not_after(bytes_.data(), range.data()) &&
                   not_after(range.data() + range.size(), bytes_.data() + bytes_.size()),
               "the released range lies in the file");
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t into_page = static_cast<std::size_t>(range.data() - bytes_.data()) % page;
  // This is advice: if the system ignores it, the process only uses more memory.
  ::madvise(const_cast<std::byte*>(range.data()) - into_page, into_page + range.size(),
            MADV_DONTNEED);
}

}  // namespace scorecast::shard
