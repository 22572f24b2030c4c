#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace scorecast::coordinator {

/// Requests and responses with more bytes than this are long.
inline constexpr std::int64_t kLongBytes = std::int64_t{64} << 10;

/// Bytes that count as held as long as a copy of this pointer exists.
using Held = std::shared_ptr<void>;

/// Counts bytes held in memory against a limit. If this count is part of a larger one, `all`, the
/// bytes count there as well, and in those that `all` is part of. Copies share one count, and a
/// `Held` may outlive them. Safe to use from any thread.
class HeldBytes {
 public:
  /// `reserve` bytes beyond the limit are only for TryHoldPart.
  explicit HeldBytes(std::int64_t limit, const HeldBytes* all = nullptr, std::int64_t reserve = 0);

  /// True if nothing is held here, or if this count and all that it is part of are below their
  /// limits.
  bool HasRoom() const;

  /// Null if this count, or one that it is part of, would exceed its limit.
  Held TryHold(std::int64_t bytes);
  /// The same for `bytes` more of something that has `before` bytes already. The first kLongBytes
  /// of it may be held beyond the limits, in the reserves.
  Held TryHoldPart(std::int64_t before, std::int64_t bytes);
  /// Counts the bytes even beyond the limits.
  Held Hold(std::int64_t bytes);

  // For something that must have room at some time, however large it is.

  /// The turn to hold bytes beyond the limit of this count. It lasts until no copy of the pointer
  /// is left. Null if it is another's.
  Held TakeTurn();
  /// Holds bytes beyond the limit of this count, but not beyond those of the counts that it is part
  /// of. The turn lasts as long as the bytes are held.
  Held TryHoldInTurn(Held turn, std::int64_t before, std::int64_t bytes);
  /// Whether the counts that this one is part of have room for the bytes.
  bool HasRoomAbove(std::int64_t bytes) const;

  /// Called on any thread. False if the one who waited is gone; the next one is then called.
  using Wake = std::function<bool()>;
  /// `wake` is called once, unless it is freed before: when there is room here for the bytes (see
  /// TryHoldPart), or when nobody has the turn. Perhaps at once. Those that wait are woken in their
  /// order; `is_first`: this one is the next.
  void Wait(std::int64_t before, std::int64_t bytes, const std::shared_ptr<Wake>& wake,
            bool is_first);
  /// Lets the next one look whether it has room. Called by one who was woken and has what it wants.
  void WakeNext();
  bool HasWaiting() const;

  /// The count that this one is part of, or this one if there is none.
  HeldBytes outer() const;
  /// The outermost of these.
  HeldBytes all() const;
  std::int64_t bytes() const;
  std::int64_t limit() const;

 private:
  struct Count;

  explicit HeldBytes(std::shared_ptr<Count> count) : count_(std::move(count)) {}

  std::shared_ptr<Count> count_;
};

}  // namespace scorecast::coordinator
