#include "shard/exchange/host_memory.h"

#include <span>
#include <utility>

#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

std::span<std::byte> BytesAt(std::byte* data, std::int64_t size) {
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

HostMemory::HostMemory(const RowSizes& sizes)
    : sizes_(sizes),
      summands_(static_cast<std::size_t>(sizes.max_rows * sizes.summand_bytes)),
      shared_rows_(static_cast<std::size_t>(sizes.max_rows * sizes.shared_bytes)) {}

HostMemory::HostMemory(std::unique_ptr<SharedWindow> window, int rank, int ranks,
                       const RowSizes& sizes)
    : sizes_(sizes), rank_(rank), ranks_(ranks), window_(std::move(window)) {}

void HostMemory::Touch(std::int64_t rows, ThreadPool& pool) {
  TouchPages(BytesAt(summands(rank_), rows * sizes_.summand_bytes), pool);
  const std::int64_t shared_bytes = rows * sizes_.shared_bytes;
  if (!window_) {
    TouchPages(BytesAt(shared_rows(), shared_bytes), pool);
    return;
  }
  // The first touch puts a page near the rank that writes it: summands near their rank, and shared
  // rows near the owners that they have in a pass of `rows` rows. Then each rank reads the rest,
  // because its own page table has no entry for a page that only others have touched.
  const std::int64_t begin = shared_bytes * rank_ / ranks_;
  const std::int64_t end = shared_bytes * (rank_ + 1) / ranks_;
  TouchPagesToRead(BytesAt(shared_rows() + begin, end - begin), pool);
  Barrier();
  for (int rank = 0; rank < ranks_; ++rank) {
    TouchPagesToRead(BytesAt(summands(rank), rows * sizes_.summand_bytes), pool);
  }
  TouchPagesToRead(BytesAt(shared_rows(), shared_bytes), pool);
  Barrier();
}

void HostMemory::Barrier() {
  if (window_) {
    window_->Barrier();
  }
}

}  // namespace scorecast::shard
