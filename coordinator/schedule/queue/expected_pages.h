#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "coordinator/schedule/queue/fair_queue.h"

namespace scorecast::coordinator {

/// Pages of K/V that are in the cache as soon as a sequence that waits is computed. Other sequences
/// with the same pages count them as cached, so that work that they share is predicted once. Each
/// page is of the sequence that named it first.
///
/// Pages are named by PageDigests. These are only for predictions, so two pages with the same
/// digest do no harm. Not safe for several threads.
class ExpectedPages {
 public:
  using Entry = FairQueue::Entry;

  /// A sequence waits that has these pages.
  void Add(const Entry& entry, std::span<const std::uint64_t> pages);
  /// It is computed: its pages are in the cache, and no longer expected.
  void Remove(const Entry& entry, std::span<const std::uint64_t> pages);
  /// It is dropped. Its pages that others have too are left over.
  void Drop(const Entry& entry, std::span<const std::uint64_t> pages);

  bool has_left_over() const { return !left_over_.empty(); }
  /// Makes pages that are left over those of a sequence that was added with them. Returns whether
  /// there were any.
  bool TakeLeftOver(const Entry& entry, std::span<const std::uint64_t> pages);

  /// Whether a sequence other than `entry` is to compute the page.
  bool IsOfAnother(const Entry& entry, std::uint64_t page) const;

  std::size_t size() const { return pages_.size(); }

 private:
  struct Page {
    std::optional<Entry> owner;
    std::size_t sequences = 0;  ///< Of those added, how many have it.
  };

  std::unordered_map<std::uint64_t, Page> pages_;
  std::unordered_set<std::uint64_t> left_over_;
};

}  // namespace scorecast::coordinator
