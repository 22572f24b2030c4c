#pragma once

#include <cstddef>
#include <cstdint>

namespace scorecast::shard {

/// Outputs of a panel. A packed weight is a sequence of panels, of which the last one is padded.
inline constexpr std::int64_t kPanelOutputs = 16;

/// Largest number of rows in one PanelProduct.
inline constexpr std::int64_t kMostProductRows = 128;

/// Floats that a product may use while it runs: a block of rows, a block of panels in float32, and
/// the padded outputs of the last panel.
inline constexpr std::int64_t kProductScratch =
    kMostProductRows * (256 + 16) + 8192 + kMostProductRows * kPanelOutputs;

/// y = x · Wᵀ for some panels of one weight. The weights' type T is the kernel's.
struct PanelProduct {
  /// float32 and float16: [panels][in][kPanelOutputs]. bfloat16: [panels][⌈in / 2⌉][kPanelOutputs]
  /// [2], so that one load has the weights of two inputs; if `in` is odd, the last pair's second
  /// element is not used.
  const std::byte* panels = nullptr;
  std::int64_t panel_bytes = 0;  ///< Distance from one panel to the next.
  std::int64_t in = 0;           ///< At least 1.

  std::int64_t rows = 0;         ///< At least 1, at most kMostProductRows.
  const std::byte* x = nullptr;  ///< [rows][in], dense; float32, or bfloat16 if x_is_bf16.
  bool x_is_bf16 = false;

  std::int64_t columns = 0;  ///< At least 1. The last panel may be used in part.
  float* y = nullptr;        ///< [rows][columns], dense.

  float* scratch = nullptr;  ///< [kProductScratch]
};

/// Products with weights of one type T in memory. T is widened to float32 exactly, and so is x.
/// Each output is one chain of fused multiply-adds in ascending order of inputs, which starts at 0.
/// (The generic set multiplies and adds.) Its bits therefore depend neither on the other rows and
/// columns nor on T. Nothing outside of the arrays is read or written; none needs an alignment.
using MultiplyPanels = void (*)(const PanelProduct& product);

struct ProductKernels {
  MultiplyPanels f32;
  MultiplyPanels bf16;
  MultiplyPanels f16;
};

}  // namespace scorecast::shard
