#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "shard/linear/activations.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::testing {

/// Memory for rows of activations. A row is NaN in every precision until it is set.
class DenseRows {
 public:
  DenseRows(shard::Precision precision, std::int64_t rows, std::int64_t width)
      : data_(static_cast<std::size_t>(rows * width * ElementSize(precision))),
        scales_(static_cast<std::size_t>(rows), std::numeric_limits<float>::quiet_NaN()),
        activations_{precision, width, data_.data(),
                     precision == shard::Precision::kInt8 ? scales_.data() : nullptr} {
    std::ranges::fill(data_.span(), std::byte{0xFF});
  }
  DenseRows(const DenseRows&) = delete;
  DenseRows& operator=(const DenseRows&) = delete;

  void Set(const shard::Kernels& kernels, std::int64_t row, std::vector<float> x) const {
    activations_.Set(kernels, row, x.data());
  }
  const shard::Activations& activations() const { return activations_; }

  /// Compares the rows' bytes and scales.
  bool SameRow(std::int64_t row, const DenseRows& other, std::int64_t other_row) const {
    return std::memcmp(activations_.Row(row), other.activations_.Row(other_row),
                       static_cast<std::size_t>(activations_.row_bytes())) == 0 &&
           std::memcmp(&scales_[static_cast<std::size_t>(row)],
                       &other.scales_[static_cast<std::size_t>(other_row)], sizeof(float)) == 0;
  }

 private:
  shard::AlignedBuffer<std::byte> data_;
  std::vector<float> scales_;
  shard::Activations activations_;
};

}  // namespace scorecast::testing
