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

Activations BlockActivations::Block(std::int64_t block) const {
  const auto at = static_cast<std::size_t>(block);
  return {precision, borders[at + 1] - borders[at],
          data + max_rows * borders[at] * ElementSize(precision),
          scales == nullptr ? nullptr : scales + block * max_rows};
}

std::byte* BlockActivations::At(std::int64_t row, std::int64_t column) const {
  const std::int64_t block = std::ranges::upper_bound(borders, column) - borders.begin() - 1;
  return Block(block).Row(row) +
         (column - borders[static_cast<std::size_t>(block)]) * ElementSize(precision);
}

void BlockActivations::Set(const Kernels& kernels, std::int64_t row, float* x) const {
  for (std::int64_t block = 0; block < blocks(); ++block) {
    Block(block).Set(kernels, row, x + borders[static_cast<std::size_t>(block)]);
  }
}

}  // namespace scorecast::shard
