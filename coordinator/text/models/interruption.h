#pragma once

#include <atomic>
#include <functional>
#include <utility>

namespace scorecast::coordinator {

/// What long work looks at, at short intervals: whether it is to end, and whether other work is to
/// go first.
class Interruption {
 public:
  /// The work is to end once `stop`, which outlives this object, is true. `give_way`, which may be
  /// empty, is called at each look on the work's thread, and may return after other work was done.
  explicit Interruption(const std::atomic<bool>& stop, std::function<void()> give_way = {})
      : stop_(stop), give_way_(std::move(give_way)) {}

  /// Whether the work is to end, with any error. Takes long if other work goes first, so the caller
  /// must hold no lock.
  bool ShouldStop() const {
    if (give_way_) {
      give_way_();
    }
    return stop_.load(std::memory_order_relaxed);
  }

 private:
  const std::atomic<bool>& stop_;
  std::function<void()> give_way_;
};

/// The same for work that need not have an interruption.
inline bool ShouldStop(const Interruption* interruption) {
  return interruption != nullptr && interruption->ShouldStop();
}

}  // namespace scorecast::coordinator
