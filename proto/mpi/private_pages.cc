#include "proto/mpi/private_pages.h"

#include <string>

#include <sys/mman.h>

#include "proto/base/error.h"

namespace scorecast::proto {

PrivatePages::PrivatePages(std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw StartupError("cannot allocate " + std::to_string(bytes >> 20U) +
                       " MiB for the rows that ranks exchange");
  }
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
}

PrivatePages::~PrivatePages() {
  if (data_ != nullptr) {
    munmap(data_, bytes_);
  }
}

}  // namespace scorecast::proto
