#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shard/linear/gemm_backend.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// y = x · Wᵀ on this rank's part of a weight.
class Linear {
 public:
  /// `weight` [out, in], row-major. `out` or `in` may be 0: a rank may own nothing of a layer.
  Linear(GemmBackend& backend, AlignedBuffer<float> weight, std::int64_t out, std::int64_t in);

  std::int64_t out_features() const { return out_; }
  std::int64_t in_features() const { return in_; }

  /// y [rows, out] from x [rows, in]. Both have room for RoundUpRows(rows) rows: those of x past
  /// `rows` must be zero, and those of y are written. With nothing to sum (in = 0), y is zero.
  void Forward(Rows<const float> x, std::int64_t rows, Rows<float> y, ThreadPool& pool) const;

 private:
  std::int64_t out_;
  std::int64_t in_;
  std::unique_ptr<PackedWeight> weight_;  // Null where this rank owns nothing.
};

}  // namespace scorecast::shard
