#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "shard/linear/precision.h"

namespace scorecast::shard {

/// oneDNN's products of one width and depth: a primitive for each number of rows that is a multiple
/// of kRowGranule, and for a few smaller ones, made once, and one packed layout of the weight for
/// them all. They are inner products, whose `brgemm` kernels
/// give a row the same bits whatever the number of rows; other kernels of the library do not, and
/// are refused.
class OneDnnProduct {
 public:
  /// y [rows, width] = x [rows, in] · Wᵀ: float32 and bfloat16 give float32, int8 (bytes times
  /// signed bytes) gives int32. `threads` may call Multiply at once.
  OneDnnProduct(Precision precision, std::int64_t width, std::int64_t in, int threads);

  /// Whether the CPU has a kernel for this, and the self-check finds a row's bits the same in every
  /// place of every number of rows.
  bool is_usable() const { return is_usable_; }

  std::int64_t packed_bytes() const { return static_cast<std::int64_t>(weight_desc_.get_size()); }

  /// Packs `rows`, dense [width, in], as float32, bfloat16 or int8 as the precision has it, into
  /// `to`, for Multiply. On any thread. `to`: [packed_bytes()], which must outlive the memory
  /// object.
  dnnl::memory Pack(const void* rows, std::byte* to) const;

  /// 1 … kMostTileRows rows; x and y have room for RoundUpRows(rows) of them.
  void Multiply(const void* x, std::int64_t rows, const dnnl::memory& weight, void* y,
                int thread) const;

  /// The library's name for its kernel.
  const std::string& kernel() const { return kernel_; }

 private:
  /// One thread's memory objects for one primitive, reused from call to call.
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

  /// The first one made chooses the weight's layout. dnnl::error where the library has no kernel
  /// that suits.
  OfRows Make(std::int64_t rows, int threads);
  void MakeAll(int threads);
  /// Keeps those of few rows that give a row the bits of all others. False where those others do
  /// not agree among themselves.
  bool RowsKeepTheirBits();

  Precision precision_;
  std::int64_t width_;
  std::int64_t in_;
  bool is_usable_ = false;
  std::string kernel_;
  dnnl::memory::desc weight_desc_;
  std::vector<OfRows> made_;  // By rows.
};

}  // namespace scorecast::shard
