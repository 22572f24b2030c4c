#include "coordinator/service/held_bytes.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

namespace scorecast::coordinator {
namespace {

bool TryAdd(std::atomic<std::int64_t>& count, std::int64_t bytes, std::int64_t limit) {
  std::int64_t held = count;
  do {
    if (held + bytes > limit) {
      return false;
    }
  } while (!count.compare_exchange_weak(held, held + bytes));
  return true;
}

}  // namespace

struct HeldBytes::Count : std::enable_shared_from_this<Count> {
  Count(std::int64_t most, std::int64_t reserve_bytes, std::shared_ptr<Count> larger)
      : limit(most), reserve(reserve_bytes), all(std::move(larger)) {}

  /// Null if there is no room. `may_exceed`: here there always is.
  Held TryHold(std::int64_t bytes, bool is_beginning, bool may_exceed) {
    Held outer;
    if (all != nullptr) {
      outer = all->TryHold(bytes, is_beginning, /*may_exceed=*/false);
      if (outer == nullptr) {
        return nullptr;
      }
    }
    if (TryAdd(held, bytes, limit)) {
      return Release(held, bytes, std::move(outer));
    }
    if (is_beginning && TryAdd(reserved, bytes, reserve)) {
      return Release(reserved, bytes, std::move(outer));
    }
    if (may_exceed) {
      held += bytes;
      return Release(held, bytes, std::move(outer));
    }
    return nullptr;
  }

  Held Hold(std::int64_t bytes) {
    Held outer = all == nullptr ? nullptr : all->Hold(bytes);
    held += bytes;
    return Release(held, bytes, std::move(outer));
  }

  /// `outer` and `turn` are freed after the bytes.
  Held Release(std::atomic<std::int64_t>& from, std::int64_t bytes, Held outer) {
    // The deleter ignores its pointer. The pointer must not be null, because null means "no room".
    return {&from,
            [bytes, &from, own = shared_from_this(), outer = std::move(outer)](void*) mutable {
              from -= bytes;
              outer.reset();
              own->WakeNext();
            }};
  }

  struct Waiting {
    std::weak_ptr<Wake> wake;
    std::int64_t bytes;
    bool is_beginning;
  };

  /// Exactly if it has room or can have the turn. Otherwise it would be woken in vain, and again
  /// at once.
  bool MayWake(const Waiting& first) const {
    return held + first.bytes <= limit || !has_turn ||
           (first.is_beginning && reserved + first.bytes <= reserve);
  }

  void WakeNext() {
    while (waiting_size > 0) {
      std::shared_ptr<Wake> wake;
      {
        const std::lock_guard lock(mutex);
        if (waiting.empty() || !MayWake(waiting.front())) {
          return;
        }
        wake = waiting.front().wake.lock();
        waiting.pop_front();
        --waiting_size;
      }
      if (wake != nullptr && (*wake)()) {
        return;
      }
    }
  }

  const std::int64_t limit;
  const std::int64_t reserve;
  const std::shared_ptr<Count> all;
  std::atomic<std::int64_t> held = 0;
  std::atomic<std::int64_t> reserved = 0;  ///< Beyond the limit, in the reserve.
  std::atomic<bool> has_turn = false;      ///< Somebody has it.
  std::atomic<std::size_t> waiting_size = 0;
  std::mutex mutex;
  std::deque<Waiting> waiting;
};

HeldBytes::HeldBytes(std::int64_t limit, const HeldBytes* all, std::int64_t reserve)
    : count_(std::make_shared<Count>(limit, reserve, all == nullptr ? nullptr : all->count_)) {}

bool HeldBytes::HasRoom() const {
  if (bytes() == 0) {
    return true;
  }
  for (const Count* one = count_.get(); one != nullptr; one = one->all.get()) {
    if (one->held + one->reserved >= one->limit) {
      return false;
    }
  }
  return true;
}

Held HeldBytes::TryHold(std::int64_t bytes) {
  return count_->TryHold(bytes, /*is_beginning=*/false, /*may_exceed=*/false);
}

Held HeldBytes::TryHoldPart(std::int64_t before, std::int64_t bytes) {
  return count_->TryHold(bytes, before + bytes <= kLongBytes, /*may_exceed=*/false);
}

Held HeldBytes::Hold(std::int64_t bytes) { return count_->Hold(bytes); }

Held HeldBytes::TakeTurn() {
  if (count_->has_turn.exchange(true)) {
    return nullptr;
  }
  return {count_.get(), [own = count_](void*) {
            own->has_turn = false;
            own->WakeNext();
          }};
}

Held HeldBytes::TryHoldInTurn(Held turn, std::int64_t before, std::int64_t bytes) {
  Held held = count_->TryHold(bytes, before + bytes <= kLongBytes, /*may_exceed=*/true);
  if (held == nullptr) {
    return nullptr;
  }
  void* const pointer = held.get();
  return {pointer, [turn = std::move(turn), held = std::move(held)](void*) mutable {
            held.reset();
            turn.reset();
          }};
}

bool HeldBytes::HasRoomAbove(std::int64_t bytes) const {
  const Count* const all = count_->all.get();
  return all == nullptr || all->held + bytes <= all->limit;
}

void HeldBytes::Wait(std::int64_t before, std::int64_t bytes, const std::shared_ptr<Wake>& wake,
                     bool is_first) {
  const Count::Waiting one{wake, bytes, before + bytes <= kLongBytes};
  {
    const std::lock_guard lock(count_->mutex);
    if (is_first) {
      count_->waiting.push_front(one);
    } else {
      count_->waiting.push_back(one);
    }
    ++count_->waiting_size;
  }
  count_->WakeNext();  // Bytes may have been freed before it waited.
}

void HeldBytes::WakeNext() { count_->WakeNext(); }

bool HeldBytes::HasWaiting() const { return count_->waiting_size > 0; }

HeldBytes HeldBytes::outer() const {
  return count_->all == nullptr ? *this : HeldBytes(count_->all);
}

HeldBytes HeldBytes::all() const {
  std::shared_ptr<Count> outermost = count_;
  while (outermost->all != nullptr) {
    outermost = outermost->all;
  }
  return HeldBytes(std::move(outermost));
}

std::int64_t HeldBytes::bytes() const { return count_->held + count_->reserved; }

std::int64_t HeldBytes::limit() const { return count_->limit; }

}  // namespace scorecast::coordinator
