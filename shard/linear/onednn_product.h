#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "shard/linear/precision.h"

namespace scorecast::shard {

/// oneDNN's products of one width and depth: one primitive for each multiple of kRowGranule rows
/// and for a few smaller numbers of rows, all made in advance, and one packed weight layout that
/// all of them use. The primitives are inner products: their `brgemm` kernels give a row the same
/// bits for every number of rows. Other kernels of oneDNN do not, and are rejected.
class OneDnnProduct {
 public:
  /// y [rows, width] = x [rows, in] · Wᵀ. Float32 and bfloat16 give float32; int8 (bytes times
  /// signed bytes) gives int32. `threads` is the number of threads that may call Multiply at the
  /// same time.
  OneDnnProduct(Precision precision, std::int64_t width, std::int64_t in, int threads);

  /// True if oneDNN has a kernel for this shape on this CPU, and the self-check found that a row's
  /// bits do not depend on its place or on the number of rows, and that sums of int8 are exact.
  bool is_usable() const { return is_usable_; }

  std::int64_t packed_bytes() const { return static_cast<std::int64_t>(weight_desc_.get_size()); }

  /// Packs `rows`, dense [width, in] of float32, bfloat16 or int8 values according to the
  /// precision, into `to` for Multiply. `to` is [packed_bytes()] and must outlive the returned
  /// memory object. Any thread may call it.
  dnnl::memory Pack(const void* rows, std::byte* to) const;

  /// `rows` is 1 … kMostTileRows; x and y have room for RoundUpRows(rows) rows. `thread` is below
  /// `threads`; two calls at the same time need different ones.
  void Multiply(const void* x, std::int64_t rows, const dnnl::memory& weight, void* y,
                int thread) const;

  /// The numbers of rows for which there are primitives, ascending.
  std::vector<std::int64_t> Heights() const;

  /// oneDNN's name for the kernel.
  const std::string& kernel() const { return kernel_; }

 private:
  /// One thread's memory objects for one primitive, reused by every call.
  struct Slot {
    dnnl::memory x;
    dnnl::memory y;
    std::unordered_map<int, dnnl::memory> arguments;
  };
  struct OfRows {
    std::int64_t rows = 0;
    dnnl::primitive primitive;
    mutable std::vector<Slot> slots;  // [threads]
  };

  /// Makes the primitive for `rows` rows. The first one made chooses the weight's layout. Throws
  /// dnnl::error if oneDNN has no suitable kernel.
  OfRows Make(std::int64_t rows, int threads);
  void MakeAll(int threads);
  /// Removes those primitives for fewer than kRowGranule rows that give a row other bits than the
  /// larger primitives do. Returns false if the larger ones do not agree with each other, or if
  /// their sums of int8 are not exact.
  bool PassesSelfCheck();

  Precision precision_;
  std::int64_t width_;
  std::int64_t in_;
  bool is_usable_ = false;
  std::string kernel_;
  dnnl::memory::desc weight_desc_;
  std::vector<OfRows> made_;  // In order of `rows`.
};

}  // namespace scorecast::shard
