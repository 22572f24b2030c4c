#include "shard/checkpoint/tensor_view.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "proto/base/check.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {
namespace {

using proto::Check;
using proto::Range;

inline std::uint32_t Bf16Bits(std::uint16_t half) { return std::uint32_t{half} << 16; }

constexpr std::uint32_t MaskIf(bool condition) { return 0U - std::uint32_t{condition}; }

/// Computes all three cases and selects one by masks, so that a loop over this has no branch.
inline std::uint32_t F16Bits(std::uint16_t half) {
  const std::uint32_t sign = (std::uint32_t{half} & 0x8000U) << 16;
  const std::uint32_t rest = half & 0x7FFFU;
  constexpr std::uint32_t kExponentShift = (127U - 15U) << 23;
  // Infinity and NaN: exponent 31 becomes 255.
  const std::uint32_t normal =
      (rest << 13) + kExponentShift + (kExponentShift & MaskIf(rest >= 0x7C00U));
  // A subnormal is a multiple of 2^-24.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24F);
  const std::uint32_t is_subnormal = MaskIf(rest < 0x0400U);
  return sign | (subnormal & is_subnormal) | (normal & ~is_subnormal);
}

/// Converts whole blocks through local arrays, which allows any alignment and gives the loop a
/// fixed trip count that compilers vectorise at every optimisation level.
template <std::uint32_t (*convert)(std::uint16_t)>
void ConvertHalves(const std::byte* in, std::int64_t count, float* out) {
  constexpr std::int64_t kBlock = 32;
  std::uint16_t halves[kBlock] = {};
  std::uint32_t bits[kBlock];
  for (std::int64_t done = 0; done < count; done += kBlock) {
    const auto now = static_cast<std::size_t>(std::min(kBlock, count - done));
    std::memcpy(halves, in + done * 2, now * 2);
    for (std::int64_t i = 0; i < kBlock; ++i) {
      bits[i] = convert(halves[i]);
    }
    std::memcpy(out + done, bits, now * 4);
  }
}

/// Reads bytes from the tensor's byte `begin` on.
void ReadBytes(const TensorView& tensor, std::int64_t begin, std::span<std::byte> out) {
  if (tensor.memory != nullptr) {
    std::memcpy(out.data(), tensor.memory + begin, out.size());
  } else {
    tensor.file->Read(tensor.offset + begin, out);
  }
}

/// Reads `count` numbers from the tensor's number `first` on.
void ReadNumbers(const TensorView& tensor, std::int64_t first, std::int64_t count, float* out) {
  std::int64_t offset = first * ItemSize(tensor.dtype);
  if (tensor.dtype == Dtype::kF32) {
    ReadBytes(tensor, offset,
              std::as_writable_bytes(std::span(out, static_cast<std::size_t>(count))));
    return;
  }
  // Small enough to stay in a core's cache, large enough for a row in one system call.
  constexpr std::int64_t kItems = 16384;
  std::array<std::byte, kItems * 2> buffer;
  while (count > 0) {
    const std::int64_t now = std::min(kItems, count);
    ReadBytes(tensor, offset, std::span(buffer).first(static_cast<std::size_t>(now * 2)));
    if (tensor.dtype == Dtype::kF16) {
      ConvertHalves<F16Bits>(buffer.data(), now, out);
    } else {
      ConvertHalves<Bf16Bits>(buffer.data(), now, out);
    }
    offset += now * 2;
    out += now;
    count -= now;
  }
}

bool Within(Range part, std::int64_t size) {
  return 0 <= part.begin && part.begin <= part.end && part.end <= size;
}

}  // namespace

std::string ShapeText(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t dimension : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
  }
  return text + "]";
}

void ReadRows(const TensorView& tensor, Range rows, float* out) {
  Check(!tensor.shape.empty() && Within(rows, tensor.shape[0]), "the rows lie in the tensor");
  if (rows.empty()) {
    return;
  }
  const std::int64_t cols = tensor.num_elements() / tensor.shape[0];
  ReadNumbers(tensor, rows.begin * cols, rows.size() * cols, out);
}

void ReadBlock(const TensorView& tensor, Range rows, Range cols, float* out,
               std::int64_t out_stride) {
  Check(tensor.shape.size() == 2, "a block is read from a matrix");
  Check(Within(rows, tensor.shape[0]) && Within(cols, tensor.shape[1]),
        "the block lies in the tensor");
  Check(out_stride >= cols.size(), "the block's rows do not overlap");
  if (cols.empty()) {  // A tensor [n, 0] has no bytes, however many rows it has.
    return;
  }
  if (cols.size() == tensor.shape[1] && out_stride == cols.size()) {
    ReadRows(tensor, rows, out);  // In larger pieces.
    return;
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    ReadNumbers(tensor, row * tensor.shape[1] + cols.begin, cols.size(),
                out + (row - rows.begin) * out_stride);
  }
}

}  // namespace scorecast::shard
