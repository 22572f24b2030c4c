#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "shard/exchange/row_slices.h"
#include "shard/exchange/shared_window.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// The rows of a RowExchange in the memory of one host: summands of each of its ranks, and the
/// shared rows once. Several ranks see each other's memory through a window.
///
/// One barrier in each call of RowExchange is enough. Summands are read between the barriers of
/// ExchangeSummands and ShareRows, and written outside of that time; shared rows are written in
/// that time and read outside of it. So there is always a barrier between one rank's reading and
/// another's writing.
class HostMemory {
 public:
  /// Memory of a rank that shares none. StartupError if the system lacks it.
  explicit HostMemory(const RowSizes& sizes);
  /// This rank is number `rank` of the host's `ranks`. The window has room for max_rows rows.
  HostMemory(std::unique_ptr<SharedWindow> window, int rank, int ranks, const RowSizes& sizes);

  std::byte* summands(int rank) { return window_ ? window_->of(rank) : summands_.data(); }
  std::byte* shared_rows() { return window_ ? window_->common() : shared_rows_.data(); }
  bool is_shared() const { return window_ != nullptr; }

  /// Collective on the host: see RowExchange::Touch.
  void Touch(std::int64_t rows, ThreadPool& pool);

  /// Collective on the host. Every rank then sees everything that any rank wrote before.
  void Barrier();

 private:
  RowSizes sizes_;
  int rank_ = 0;
  int ranks_ = 1;
  std::unique_ptr<SharedWindow> window_;  // Null if the rank shares no memory.
  AlignedBuffer<std::byte> summands_;     // Empty if there is a window, as is the next.
  AlignedBuffer<std::byte> shared_rows_;
};

}  // namespace scorecast::shard
