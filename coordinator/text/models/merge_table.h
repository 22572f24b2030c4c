#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// The merge of two neighbouring tokens.
struct Merge {
  std::uint32_t rank = 0;  ///< Merges with a lower rank are applied first.
  proto::TokenId merged = 0;
};

/// Merges by pair of tokens: a hash table with open addressing, because encoding spends most of its
/// time here.
class MergeTable {
 public:
  /// Makes room for `count` merges.
  explicit MergeTable(std::size_t count);

  /// Ids must be ≥ 0. A pair that is already in the table gets the new merge. At most `count`
  /// different pairs may be inserted.
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
  /// The slot of `pair`, or the empty slot into which it would go.
  std::size_t SlotOf(std::uint64_t pair) const;

  std::vector<Slot> slots_;  ///< Their number is a power of two; at least half are empty.
  int shift_ = 0;            ///< 64 − log2 of the number of slots.
};

}  // namespace scorecast::coordinator
