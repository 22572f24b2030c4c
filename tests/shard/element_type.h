#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "shard/kernels/attention_kernels.h"
#include "shard/kernels/kernels.h"
#include "tests/shard/bf16.h"

namespace scorecast::testing {

/// The type in which queries, keys and values are stored, and the layouts of attention_kernels.h as
/// plain indices.
struct ElementType {
  bool is_bf16 = false;

  std::int64_t size() const { return is_bf16 ? 2 : 4; }
  std::int64_t pair() const { return is_bf16 ? 2 : 1; }
  std::string name() const { return is_bf16 ? "bf16" : "f32"; }
  /// Relative rounding error of a softmax weight, which is stored as an element too.
  double roundoff() const { return is_bf16 ? kBf16Roundoff : 0; }
  const shard::AttentionKernels& KernelsOf(const shard::Kernels& kernels) const {
    return is_bf16 ? kernels.attention_bf16 : kernels.attention_f32;
  }

  float Round(float x) const { return is_bf16 ? RoundToBf16(x) : x; }
  std::vector<float> Round(std::vector<float> numbers) const {
    return is_bf16 ? RoundToBf16(std::move(numbers)) : numbers;
  }

  float At(const std::byte* elements, std::int64_t index) const {
    if (is_bf16) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, elements + 2 * index, sizeof(bits));
      return FromBf16(bits);
    }
    float x = 0;
    std::memcpy(&x, elements + 4 * index, sizeof(x));
    return x;
  }
  void Put(float x, std::int64_t index, std::byte* elements) const {
    if (is_bf16) {
      const std::uint16_t bits = ToBf16(x);
      std::memcpy(elements + 2 * index, &bits, sizeof(bits));
    } else {
      std::memcpy(elements + 4 * index, &x, sizeof(x));
    }
  }

  /// Index of element d of row `row`'s key: [rows / 16][head_dim / pair][16][pair].
  std::int64_t KeyIndex(std::int64_t row, std::int64_t d, std::int64_t head_dim) const {
    const std::int64_t group = row / shard::kKeyLanes * (head_dim / pair());
    return ((group + d / pair()) * shard::kKeyLanes + row % shard::kKeyLanes) * pair() + d % pair();
  }
  /// Index of element d of row `row`'s value: [rows / pair][value_stride][pair].
  std::int64_t ValueIndex(std::int64_t row, std::int64_t d, std::int64_t value_stride) const {
    return (row / pair() * value_stride + d) * pair() + row % pair();
  }
};

}  // namespace scorecast::testing
