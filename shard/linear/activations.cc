#include "shard/linear/activations.h"

#include <algorithm>

namespace scorecast::shard {

void Activations::Set(const Kernels& kernels, std::int64_t row, float* x) const {
  std::byte* to = Row(row);
  switch (precision) {
    case Precision::kFloat32:
      std::copy_n(x, width, reinterpret_cast<float*>(to));
      return;
    case Precision::kBfloat16:
      kernels.to_bf16(x, width, reinterpret_cast<std::uint16_t*>(to));
      return;
    case Precision::kInt8:
      kernels.rotate(x, width);
      scales[row] = kernels.quantize(x, width, reinterpret_cast<std::uint8_t*>(to));
      return;
  }
}

void Activations::CopyRow(std::int64_t row, const Activations& from, std::int64_t from_row) const {
  std::copy_n(from.Row(from_row), row_bytes(), Row(row));
  if (precision == Precision::kInt8) {
    scales[row] = from.scales[from_row];
  }
}

}  // namespace scorecast::shard
