#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// What becomes of two neighbouring tokens.
struct Merge {
  std::uint32_t rank = 0;  ///< Merges of a lower rank come first.
  proto::TokenId merged = 0;
};

/// Merges by pair: a hash table with open addressing, because encoding spends its time here.
class MergeTable {
 public:
  /// Room for `count` merges.
  explicit MergeTable(std::size_t count);

  /// Ids are ≥ 0. A pair that stands there already gets the new merge. Not for more than `count`
  /// different pairs.
  void Insert(proto::TokenId left, proto::TokenId right, Merge merge);

  const Merge* Find(proto::TokenId left, proto::TokenId right) const;

 private:
  struct Slot {
    std::uint64_t pair = kEmpty;
    Merge merge;
  };
  static constexpr std::uint64_t kEmpty = UINT64_MAX;

  static std::uint64_t Pair(proto::TokenId left, proto::TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
           static_cast<std::uint32_t>(right);
  }
  /// The slot of `pair`, or the empty one where it would go.
  std::size_t SlotOf(std::uint64_t pair) const;

  std::vector<Slot> slots_;  ///< A power of two, at least half of them empty.
  int shift_ = 0;            ///< 64 − log2 of their number.
};

}  // namespace scorecast::coordinator
