#include "coordinator/schedule/queue/page_queue.h"

#include <algorithm>
#include <utility>

#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {
namespace {

/// The reserve is enough for the rows of this many passes, but no larger than this part of all
/// pages.
constexpr std::int64_t kReservePasses = 2;
constexpr std::int64_t kReservePart = 4;

/// A short sequence needs at most this part of the reserve.
constexpr std::int64_t kShortPart = 4;

std::int64_t PagesOf(const proto::PlanLimits& limits) {
  return (limits.reach.both_sides ? limits.text_rows : limits.kept_kv_rows) / proto::kKvPageRows;
}

std::int64_t ReserveOf(const proto::PlanLimits& limits) {
  return limits.reach.both_sides ? PagesOf(limits) - KvPages(limits.longest_text)
                                 : std::min(kReservePasses * limits.max_rows / proto::kKvPageRows,
                                            PagesOf(limits) / kReservePart);
}

}  // namespace

PageQueue::PageQueue(const proto::PlanLimits& limits)
    : pages_(PagesOf(limits)), reserve_(ReserveOf(limits)) {}

PageQueue::Need PageQueue::NeedOf(std::int64_t pages, bool has_completions) const {
  return {pages, has_completions || pages * kShortPart > reserve_};
}

std::int64_t PageQueue::ReserveBeside(const Need& need) const {
  return std::min(reserve_, pages_ - need.pages);
}

bool PageQueue::MayBegin(const Entry& entry, const Need& need, const AddressTags& tags) {
  const Waiters& waiting = need.is_long_lived ? waiting_long_ : waiting_short_;
  const auto own = waiting.find(entry);
  const std::pair place(own == waiting.end() ? tags : own->second.tags, entry);
  for (const auto& [other, waiter] : waiting) {
    if (std::pair(waiter.tags, other) < place) {
      return false;
    }
  }
  if (need.is_long_lived ||
      std::all_of(waiting_long_.begin(), waiting_long_.end(), [&](const auto& waiter) {
        return short_pages_ + need.pages <= ReserveBeside(waiter.second.need);
      })) {
    return true;
  }
  // Otherwise smaller ones could overtake it forever.
  Wait(entry, need, tags);
  return false;
}

std::int64_t PageQueue::SpareToBegin(const Need& need) const {
  return need.is_long_lived ? std::max<std::int64_t>(ReserveBeside(need) - short_pages_, 0) : 0;
}

std::int64_t PageQueue::SpareToGrow() const {
  return waiting_short_.empty() ? 0 : std::max<std::int64_t>(reserve_ - short_pages_, 0);
}

void PageQueue::Wait(const Entry& entry, const Need& need, const AddressTags& tags) {
  if (!waiting_long_.contains(entry) && !waiting_short_.contains(entry)) {
    (need.is_long_lived ? waiting_long_ : waiting_short_).emplace(entry, Waiter{tags, need});
  }
}

void PageQueue::SetNeed(const Entry& entry, const Need& need) {
  auto waiter = waiting_long_.extract(entry);
  if (waiter.empty()) {
    waiter = waiting_short_.extract(entry);
  }
  if (!waiter.empty() && need.pages > 0) {
    waiter.mapped().need = need;
    (need.is_long_lived ? waiting_long_ : waiting_short_).insert(std::move(waiter));
  }
}

void PageQueue::Begin(const Entry& entry, const Need& need) {
  waiting_long_.erase(entry);
  waiting_short_.erase(entry);
  if (!need.is_long_lived && short_.emplace(entry, need.pages).second) {
    short_pages_ += need.pages;
  }
}

void PageQueue::End(const Entry& entry) {
  waiting_long_.erase(entry);
  waiting_short_.erase(entry);
  const auto found = short_.find(entry);
  if (found != short_.end()) {
    short_pages_ -= found->second;
    short_.erase(found);
  }
}

}  // namespace scorecast::coordinator
