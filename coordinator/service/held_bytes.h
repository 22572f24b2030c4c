#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace scorecast::coordinator {

/// Requests and responses with more bytes than this are long.
inline constexpr std::int64_t kLongBytes = std::int64_t{64} << 10;

/// Bytes that count as held as long as a copy of this pointer exists.
using Held = std::shared_ptr<void>;

/// Counts bytes held in memory against a limit. If this count is part of a larger one, `all`, the
/// bytes count there as well. Safe to use from any thread. A `Held` may outlive the count.
class HeldBytes {
 public:
  /// `reserve` bytes beyond the limit are only for TryHoldPart.
  explicit HeldBytes(std::int64_t limit, const HeldBytes* all = nullptr, std::int64_t reserve = 0);

  /// True if nothing is held here, or if this count and `all` are both below their limits.
  bool HasRoom() const;

  /// Null if the count would exceed its limit. Ignores the limit of `all`.
  Held TryHold(std::int64_t bytes);
  /// The same for `bytes` more of something that has `before` bytes already. The first kLongBytes
  /// of it may be held beyond the limit, in the reserve.
  Held TryHoldPart(std::int64_t before, std::int64_t bytes);
  /// Counts the bytes even beyond the limit.
  Held Hold(std::int64_t bytes);

  /// The larger count that this one is part of, or this one if there is none.
  const HeldBytes& all() const { return all_ == nullptr ? *this : *all_; }
  std::int64_t bytes() const { return *count_; }
  std::int64_t limit() const { return limit_; }

 private:
  using Count = std::shared_ptr<std::atomic<std::int64_t>>;

  Held TryHoldWithin(std::int64_t limit, std::int64_t bytes);
  Held Release(std::int64_t bytes);

  std::int64_t limit_;
  std::int64_t reserve_;
  const HeldBytes* all_;
  Count count_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace scorecast::coordinator
