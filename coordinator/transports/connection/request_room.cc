#include "coordinator/transports/connection/request_room.h"

#include <boost/asio/post.hpp>

namespace scorecast::coordinator {

namespace asio = boost::asio;

RequestRoom::RequestRoom(asio::any_io_executor executor, Clock::duration patience,
                         std::shared_ptr<AddressBytes> address)
    : executor_(std::move(executor)),
      patience_(patience),
      address_(std::move(address)),
      timer_(executor_) {}

void RequestRoom::SetAddress(std::shared_ptr<AddressBytes> address) {
  address_ = std::move(address);
  turn_.reset();
}

void RequestRoom::Hold(std::int64_t before, std::int64_t bytes, Next next) {
  HeldBytes& requests = address_->requests;
  // A request that becomes long waits behind those that wait, unless it has the turn. One that is
  // long already goes on, so that few are half read.
  const bool becomes_long = before <= kLongBytes && before + bytes > kLongBytes && turn_.expired();
  Held held = becomes_long && requests.HasWaiting() ? nullptr : TryHold(before, bytes);
  if (held != nullptr || is_closed_ || !requests.HasRoomAbove(bytes)) {
    next(std::move(held));
    return;
  }
  awaited_ = {before, bytes, std::move(next), nullptr};
  timer_.expires_after(patience_);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
    // The timer may have been set anew meanwhile.
    if (self->awaited_ && (self->is_closed_ || Clock::now() >= self->timer_.expiry())) {
      self->EndWait(nullptr);
    }
  });
  Wait(/*is_first=*/false);
}

Held RequestRoom::TryHold(std::int64_t before, std::int64_t bytes) {
  HeldBytes& requests = address_->requests;
  if (Held held = requests.TryHoldPart(before, bytes)) {
    return held;
  }
  Held turn = turn_.lock();
  if (turn == nullptr) {
    turn = requests.TakeTurn();
    turn_ = turn;
  }
  return turn == nullptr ? nullptr : requests.TryHoldInTurn(std::move(turn), before, bytes);
}

void RequestRoom::Wait(bool is_first) {
  // Weak, because the address may live longer.
  awaited_->wake = std::make_shared<HeldBytes::Wake>([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self != nullptr) {
      asio::post(self->executor_, [self] { self->Retry(); });
    }
    return self != nullptr;
  });
  address_->requests.Wait(awaited_->before, awaited_->bytes, awaited_->wake, is_first);
}

void RequestRoom::Retry() {
  // A copy, because `next` may set another address.
  const std::shared_ptr<AddressBytes> address = address_;
  if (awaited_) {
    Held held = TryHold(awaited_->before, awaited_->bytes);
    if (held == nullptr && address->requests.HasRoomAbove(awaited_->bytes)) {
      Wait(/*is_first=*/true);
      return;
    }
    EndWait(std::move(held));
  }
  address->requests.WakeNext();  // There may be room for more of them.
}

void RequestRoom::EndWait(Held held) {
  const Next next = std::move(awaited_->next);
  awaited_.reset();
  timer_.cancel();
  next(std::move(held));
}

void RequestRoom::Close() {
  is_closed_ = true;
  timer_.cancel();
}

}  // namespace scorecast::coordinator
