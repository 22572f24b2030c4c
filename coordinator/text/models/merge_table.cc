#include "coordinator/text/models/merge_table.h"

#include <algorithm>
#include <bit>

namespace scorecast::coordinator {

MergeTable::MergeTable(std::size_t count)
    : slots_(std::bit_ceil(std::max<std::size_t>(2 * count, 2))),
      shift_(64 - std::countr_zero(slots_.size())) {}

void MergeTable::Insert(proto::TokenId left, proto::TokenId right, Merge merge) {
  const std::uint64_t pair = Pair(left, right);
  slots_[SlotOf(pair)] = {pair, merge};
}

const Merge* MergeTable::Find(proto::TokenId left, proto::TokenId right) const {
  const std::uint64_t pair = Pair(left, right);
  const Slot& slot = slots_[SlotOf(pair)];
  return slot.pair == pair ? &slot.merge : nullptr;
}

std::size_t MergeTable::SlotOf(std::uint64_t pair) const {
  // Fibonacci hashing: the upper bits of the product depend on all bits of the pair.
  std::size_t slot = (pair * 0x9E3779B97F4A7C15u) >> shift_;
  while (slots_[slot].pair != pair && slots_[slot].pair != kEmpty) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

}  // namespace scorecast::coordinator
