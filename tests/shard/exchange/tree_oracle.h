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

/// The node of the tree over one number of each block whose leaves are numbers [begin, end) of
/// `blocks`: docs/exchange.md. The first half has one more if their number is odd.
inline float BlockNode(std::span<const float> blocks, std::size_t begin, std::size_t end) {
  if (end - begin == 1) {
    return blocks[begin];
  }
  const std::size_t middle = begin + (end - begin + 1) / 2;
  return BlockNode(blocks, begin, middle) + BlockNode(blocks, middle, end);
}

}  // namespace scorecast::testing
