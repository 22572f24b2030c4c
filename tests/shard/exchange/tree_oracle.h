#pragma once

#include <bit>
#include <span>

#include "shard/exchange/tree_sum.h"
#include "tests/shard/bf16.h"

namespace scorecast::testing {

/// A number of a summand as ranks store it.
inline float RoundSummand(shard::SummandType type, float x) {
  return type == shard::SummandType::kBfloat16 ? RoundToBf16(x) : x;
}

/// The root of the tree over one number of each rank: docs/exchange.md.
inline float TreeRoot(shard::SummandType type, std::span<const float> leaves) {
  if (leaves.size() == 1) {
    return leaves.front();
  }
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  const auto node = [type](std::span<const float> of) {
    return RoundSummand(type, TreeRoot(type, of));
  };
  return node(leaves.first(left)) + node(leaves.subspan(left));
}

}  // namespace scorecast::testing
