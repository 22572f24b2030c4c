#include "coordinator/service/held_bytes.h"

namespace scorecast::coordinator {

HeldBytes::HeldBytes(std::int64_t limit, const HeldBytes* all, std::int64_t reserve)
    : limit_(limit), reserve_(reserve), all_(all) {}

bool HeldBytes::HasRoom() const {
  return bytes() == 0 || (bytes() < limit_ && (all_ == nullptr || all_->bytes() < all_->limit()));
}

Held HeldBytes::TryHold(std::int64_t bytes) { return TryHoldWithin(limit_, bytes); }

Held HeldBytes::TryHoldPart(std::int64_t before, std::int64_t bytes) {
  return TryHoldWithin(before + bytes <= kLongBytes ? limit_ + reserve_ : limit_, bytes);
}

Held HeldBytes::TryHoldWithin(std::int64_t limit, std::int64_t bytes) {
  std::int64_t held = *count_;
  do {
    if (held + bytes > limit) {
      return nullptr;
    }
  } while (!count_->compare_exchange_weak(held, held + bytes));
  if (all_ != nullptr) {
    *all_->count_ += bytes;
  }
  return Release(bytes);
}

Held HeldBytes::Hold(std::int64_t bytes) {
  *count_ += bytes;
  if (all_ != nullptr) {
    *all_->count_ += bytes;
  }
  return Release(bytes);
}

Held HeldBytes::Release(std::int64_t bytes) {
  // The deleter ignores its pointer. The pointer must not be null, because null means "no room".
  return {count_.get(),
          [bytes, own = count_, all = all_ == nullptr ? nullptr : all_->count_](void*) {
            *own -= bytes;
            if (all != nullptr) {
              *all -= bytes;
            }
          }};
}

}  // namespace scorecast::coordinator
