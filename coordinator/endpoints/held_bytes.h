#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace scorecast::coordinator {

/// Bytes that count as held for as long as anything refers to this.
using Held = std::shared_ptr<void>;

/// Counts bytes held in memory against a limit, and in `all` too, where there is one. Safe to use
/// from any thread; what is held may outlive it.
class HeldBytes {
 public:
  explicit HeldBytes(std::int64_t limit, const HeldBytes* all = nullptr);

  /// Whether more may be held here and in `all`, or nothing is held here.
  bool HasRoom() const;

  /// Null where it would be more than the limit.
  Held TryHold(std::int64_t bytes);
  /// Whatever the limit.
  Held Hold(std::int64_t bytes);

  std::int64_t bytes() const { return *count_; }
  std::int64_t limit() const { return limit_; }

 private:
  using Count = std::shared_ptr<std::atomic<std::int64_t>>;

  Held Release(std::int64_t bytes);

  std::int64_t limit_;
  const HeldBytes* all_;
  Count count_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace scorecast::coordinator
