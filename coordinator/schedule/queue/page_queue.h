#pragma once

#include <cstdint>
#include <map>

#include "coordinator/schedule/queue/fair_queue.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// Decides which of the sequences that need pages may begin, so that each of them begins in the
/// end.
///
/// A sequence takes all pages for its prompt when it begins. Some pages are a reserve, which
/// long-lived sequences leave free: those with completions, and those that need more than a quarter
/// of the reserve. A short one that is cut over passes therefore need not wait for a long one. (A
/// long-lived sequence that needs a part of the reserve may take that part. A completion that grows
/// may take any page while no short sequence waits.)
///
/// A sequence that finds too few pages holds up those of its own kind (long-lived or short) that
/// come after it in the fair order of their addresses. It keeps its place while others are served,
/// so it is the first in the end, and holds up all the others. While a long-lived one waits, short
/// ones have no more than the reserve.
///
/// The pages of a bidirectional model are those of the buffers in which texts wait between their
/// steps (proto::PlanStep). There the reserve is what the longest text leaves.
class PageQueue {
 public:
  using Entry = FairQueue::Entry;

  /// What a sequence needs at most, at any time.
  struct Need {
    std::int64_t pages = 0;
    bool is_long_lived = false;
  };

  explicit PageQueue(const proto::PlanLimits& limits);

  Need NeedOf(std::int64_t pages, bool has_completions) const;

  /// Whether a sequence that has not begun may. `tags` are those of its address. A short one for
  /// which only the reserve has too few pages waits from now on.
  bool MayBegin(const Entry& entry, const Need& need, const AddressTags& tags);
  /// Number of pages that must stay free beside those that a sequence takes when it begins.
  std::int64_t SpareToBegin(const Need& need) const;
  /// The same for a completion that takes its next page.
  std::int64_t SpareToGrow() const;

  /// There were not enough pages for a sequence to begin.
  void Wait(const Entry& entry, const Need& need, const AddressTags& tags);
  /// A sequence that may be waiting needs something else now; nothing if `need` has no pages.
  void SetNeed(const Entry& entry, const Need& need);
  void Begin(const Entry& entry, const Need& need);
  /// The sequence is done or dropped.
  void End(const Entry& entry);
  bool has_waiting() const { return has_waiting_long() || !waiting_short_.empty(); }
  bool has_waiting_long() const { return !waiting_long_.empty(); }
  std::int64_t pages() const { return pages_; }
  std::int64_t reserve() const { return reserve_; }

 private:
  struct Waiter {
    AddressTags tags;  ///< Those of its address when it began to wait.
    Need need;
  };
  using Waiters = std::map<Entry, Waiter>;

  /// Pages of the reserve that such a sequence leaves to short ones.
  std::int64_t ReserveBeside(const Need& need) const;

  const std::int64_t pages_;
  const std::int64_t reserve_;
  Waiters waiting_long_;
  Waiters waiting_short_;
  std::map<Entry, std::int64_t> short_;  ///< Pages of short sequences that have begun.
  std::int64_t short_pages_ = 0;         ///< Their sum.
};

}  // namespace scorecast::coordinator
