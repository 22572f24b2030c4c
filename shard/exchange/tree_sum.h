#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// The numbers of which summands consist.
enum class SummandType { kFloat32, kBfloat16 };

constexpr std::int64_t BytesOf(SummandType type) { return type == SummandType::kFloat32 ? 4 : 2; }

/// Rows of summands of one rank, or of the sums over several consecutive ranks.
struct SummandRows {
  const std::byte* rows = nullptr;
  int ranks = 1;
};

/// Adds up rows over ranks as a tree that depends on the number of ranks alone: the first child of
/// a node has the largest power of two of its ranks that is less than all of them. Every node but
/// the root is rounded to the type. So a sum has the same bits, whichever nodes of the tree its
/// parts are. Threads may use one object at the same time.
class TreeSum {
 public:
  TreeSum(const Kernels& kernels, SummandType type) : kernels_(&kernels), type_(type) {}

  SummandType type() const { return type_; }

  /// sum[i] += the root of the row that begins `offset` bytes behind the beginning of each part.
  /// The parts are those of all ranks, in the ranks' order; each is a node of the tree.
  void AddTo(std::span<const SummandRows> parts, std::int64_t offset, std::span<float> sum) const;
  /// Writes the sum over some ranks that are a node of a larger tree, and whose number is a power
  /// of two: `numbers` numbers of the type.
  void WriteNode(std::span<const SummandRows> parts, std::int64_t offset, std::int64_t numbers,
                 std::byte* to) const;

 private:
  const Kernels* kernels_;
  SummandType type_;
};

}  // namespace scorecast::shard
