#include "shard/linear/panel_weight.h"

#include <algorithm>
#include <bit>
#include <span>

#include "proto/base/check.h"

namespace scorecast::shard {
namespace {

static_assert(kMostTileRows <= kMostProductRows);

MultiplyPanels KernelOf(const ProductKernels& kernels, Dtype type) {
  switch (type) {
    case Dtype::kF32:
      return kernels.f32;
    case Dtype::kBF16:
      return kernels.bf16;
    case Dtype::kF16:
      return kernels.f16;
  }
  return nullptr;
}

/// A pair of bfloat16 takes as much as one float32, even if its second element is not used.
std::int64_t PanelBytes(Dtype type, std::int64_t in) {
  return kPanelOutputs * (type == Dtype::kBF16 ? (in + 1) / 2 * 4 : in * ItemSize(type));
}

/// Converts a float whose value is exactly a bfloat16.
std::uint16_t NarrowToBf16(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16U);
}

/// Converts a float whose value is exactly a float16.
std::uint16_t NarrowToF16(float x) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  constexpr std::uint32_t kSmallestNormal = 0x38800000;  // 2⁻¹⁴
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (size >= kInfinity) {
    half = 0x7C00U | (size >> 13U & 0x3FFU);
  } else if (size >= kSmallestNormal) {
    half = (size - 0x38000000U) >> 13U;
  } else {
    half = static_cast<std::uint32_t>(std::bit_cast<float>(size) * 0x1p24F);
  }
  return static_cast<std::uint16_t>(half | (bits >> 16U & 0x8000U));
}

/// Copies `rows` [outputs, in], at most kPanelOutputs of them, to one panel: `pair` inputs side by
/// side for each output.
template <typename T>
void PackPanel(const T* rows, std::int64_t outputs, std::int64_t in, std::int64_t pair, T* panel) {
  // 16 inputs of each row are read at once, because cache lines of rows 4 KB apart displace each
  // other.
  constexpr std::int64_t kLine = 16;
  for (std::int64_t begin = 0; begin < in; begin += kLine) {
    const std::int64_t end = std::min(in, begin + kLine);
    for (std::int64_t output = 0; output < outputs; ++output) {
      const T* from = rows + output * in;
      for (std::int64_t i = begin; i < end; ++i) {
        panel[(i / pair * kPanelOutputs + output) * pair + i % pair] = from[i];
      }
    }
  }
}

/// Packs a chunk [width, in]. Padding keeps the zeros of a new buffer.
template <typename T>
void PackChunk(const T* rows, std::int64_t width, std::int64_t in, bool pairs,
               std::int64_t panel_bytes, std::byte* panels) {
  for (std::int64_t first = 0; first < width; first += kPanelOutputs, panels += panel_bytes) {
    const std::int64_t outputs = std::min(kPanelOutputs, width - first);
    auto* panel = reinterpret_cast<T*>(panels);
    if (pairs) {
      PackPanel(rows + first * in, outputs, in, 2, panel);
    } else {
      PackPanel(rows + first * in, outputs, in, 1, panel);
    }
  }
}

}  // namespace

PanelWeight::PanelWeight(const Kernels& kernels, Precision precision, const WeightSource& source,
                         ThreadPool& pool, std::vector<Scratch>& scratch)
    : in_(source.in), scratch_(scratch) {
  proto::Check(precision != Precision::kInt8, "panels are not int8");
  const Dtype type = PanelType(precision, source.stored);
  multiply_ = KernelOf(kernels.products, type);
  panel_bytes_ = PanelBytes(type, in_);
  std::int64_t panels = 0;
  for (const std::int64_t width : source.widths) {
    first_panels_.push_back(panels);
    panels += (width + kPanelOutputs - 1) / kPanelOutputs;
  }
  panels_ = AlignedBuffer<std::byte>(static_cast<std::size_t>(panels * panel_bytes_));
  panels_.PreferHugePages();
  const bool narrows = type != Dtype::kF32;
  ReadChunks({&source, 1}, narrows, pool,
             [&](std::size_t, std::size_t chunk, PackScratch& packing) {
               const std::int64_t width = source.widths[chunk];
               auto& [rows, narrow] = packing;
               std::byte* to = panels_.data() + first_panels_[chunk] * panel_bytes_;
               if (type == Dtype::kF32) {
                 PackChunk(rows.data(), width, in_, false, panel_bytes_, to);
                 return;
               }
               const auto numbers = std::span(rows.data(), static_cast<std::size_t>(width * in_));
               if (type == source.stored) {
                 std::ranges::transform(numbers, narrow.data(),
                                        type == Dtype::kBF16 ? &NarrowToBf16 : &NarrowToF16);
               } else {
                 kernels.to_bf16(numbers.data(), width * in_, narrow.data());
               }
               PackChunk(narrow.data(), width, in_, type == Dtype::kBF16, panel_bytes_, to);
             });
}

void PanelWeight::Multiply(const Activations& x, std::int64_t first_row, std::int64_t rows,
                           std::int64_t chunk, proto::Range columns, float* y, int thread) const {
  const std::int64_t first_panel =
      first_panels_[static_cast<std::size_t>(chunk)] + columns.begin / kPanelOutputs;
  multiply_({.panels = panels_.data() + first_panel * panel_bytes_,
             .panel_bytes = panel_bytes_,
             .in = in_,
             .rows = rows,
             .x = x.Row(first_row),
             .x_is_bf16 = x.precision == Precision::kBfloat16,
             .columns = columns.size(),
             .y = y,
             .scratch = scratch_[static_cast<std::size_t>(thread)].data()});
}

}  // namespace scorecast::shard
