#include "shard/runtime/aligned_buffer.h"

#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::shard {

namespace {

/// The size on x86-64, and on Arm with pages of 4 KB.
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

/// Unmaps [begin, end), which may be empty.
void Unmap(std::byte* begin, const std::byte* end) {
  if (begin < end) {
    munmap(begin, static_cast<std::size_t>(end - begin));
  }
}

}  // namespace

PageBlock::PageBlock(std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  // The system uses huge pages only at their borders. So one more is mapped, and the memory before
  // and behind the block is given back.
  const bool may_be_huge = bytes >= kHugePage;
  const std::size_t more = may_be_huge ? kHugePage : 0;
  void* data = bytes + more < bytes ? MAP_FAILED
                                    : mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw proto::StartupError("cannot allocate " + std::to_string(bytes >> 20U) + " MiB of memory");
  }
  if (may_be_huge) {
    auto* mapped = static_cast<std::byte*>(data);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(mapped) % kHugePage;
    std::byte* begin = mapped + (beyond == 0 ? 0 : kHugePage - beyond);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    Unmap(mapped, begin);
    Unmap(begin + (bytes + page - 1) / page * page, mapped + bytes + more);
    data = begin;
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
