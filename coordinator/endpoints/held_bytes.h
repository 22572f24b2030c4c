#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace scorecast::coordinator {

/// Bytes that count as held while anything refers to this.
using Held = std::shared_ptr<void>;

/// Counts bytes held in memory against a limit, and in `all` too, if it is part of a larger count.
/// Safe to use from any thread. What is held may outlive it.
class HeldBytes {
 public:
  explicit HeldBytes(std::int64_t limit, const HeldBytes* all = nullptr);

  /// Whether more may be held here and in `all`, or nothing is held here.
  bool HasRoom() const;

  /// Null if it would be more than the limit.
  Held TryHold(std::int64_t bytes);
  /// Even if it is more than the limit.
  Held Hold(std::int64_t bytes);

  /// The count of all, of which this one is a part or the whole.
  const HeldBytes& all() const { return all_ == nullptr ? *this : *all_; }
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
