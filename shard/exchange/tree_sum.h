#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// The numbers of which summands consist.
enum class SummandType { kFloat32, kBfloat16 };

constexpr std::int64_t BytesOf(SummandType type) { return type == SummandType::kFloat32 ? 4 : 2; }

/// Rows of summands of one rank, or of the sums over several consecutive ranks: a node of a
/// SumTree.
struct SummandRows {
  const std::byte* rows = nullptr;
  int joins = 0;  ///< See SumTree::JoinsAfter.
};

/// Adds up rows as a SumTree says. Every node but the root is rounded to the type. So a sum has the
/// same bits, whichever nodes of the tree its parts are. Threads may use one object at the same
/// time.
class TreeSum {
 public:
  TreeSum(const Kernels& kernels, SummandType type) : kernels_(&kernels), type_(type) {}

  SummandType type() const { return type_; }

  /// sum[i] += the root of the row that begins `offset` bytes behind the beginning of each part.
  /// The parts are in the order of the tree's leaves, and together they are the whole tree.
  void AddTo(std::span<const SummandRows> parts, std::int64_t offset, std::span<float> sum) const;
  /// Writes the sum over some parts that together are a node of a larger tree: `numbers` numbers of
  /// the type.
  void WriteNode(std::span<const SummandRows> parts, std::int64_t offset, std::int64_t numbers,
                 std::byte* to) const;

 private:
  const Kernels* kernels_;
  SummandType type_;
};

}  // namespace scorecast::shard
