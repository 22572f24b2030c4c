#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace scorecast::proto {

/// How the probability mass of a row is spread over its logits: a histogram of fixed size. Bin b
/// holds the tokens with logits from b · width to (b + 1) · width, and their mass, which is the sum
/// of exp(logit - b · width) in units of 2^-kUnitBits. Integers are summed, so the order of threads
/// and ranks does not matter.
struct MassBins {
  static constexpr std::size_t kCount = 256;
  static constexpr int kUnitBits = 23;
  /// The greatest width of a bin. The sum of 256 tokens in a bin then has 32 bits.
  static constexpr float kMostWidth = 0x1p-4F;
  /// In a message of a rank.
  static constexpr std::int64_t kBytes = sizeof(std::int32_t) + kCount * sizeof(std::uint64_t);
  /// The highest bin of no tokens.
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::min();
  /// Logits whose bins would be beyond ±kMostBin are counted in those. Such bins tell nothing of
  /// their mass.
  static constexpr std::int32_t kMostBin = 1 << 30;

  /// The highest bin that has tokens.
  std::int32_t highest = kNone;
  /// [kCount]: masses[i] is that of bin highest - i. Lower bins are left out. Empty if there are no
  /// tokens.
  std::vector<std::uint64_t> masses;

  /// Adds the bins of other tokens.
  void Add(const MassBins& more);
  /// Adds masses: `more`[i] to bin first - i. `more` has at most kCount bins.
  void Add(std::int32_t first, std::span<const std::uint32_t> more);

  bool operator==(const MassBins&) const = default;
};

}  // namespace scorecast::proto
