#include "shard/runtime/aligned_buffer.h"

#include <string>

#include <sys/mman.h>

#include "proto/base/error.h"

namespace scorecast::shard {

PageBlock::PageBlock(std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw proto::StartupError("cannot allocate " + std::to_string(bytes >> 20U) + " MiB of memory");
  }
  data_ = data;
  bytes_ = bytes;
}

PageBlock::~PageBlock() {
  if (data_ != nullptr) {
    munmap(data_, bytes_);
  }
}

void PageBlock::PreferHugePages() const {
  if (data_ != nullptr) {
    madvise(data_, bytes_, MADV_HUGEPAGE);  // An error only means that pages stay small.
  }
}

}  // namespace scorecast::shard
