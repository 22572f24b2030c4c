#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/schedule/clock.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/address_bytes.h"

namespace scorecast::coordinator {

/// Takes room for the bytes of requests, one request after another, among the bytes of their
/// client's address: at once, or when there is room. Used only on its executor, which runs one
/// handler at a time.
class RequestRoom : public std::enable_shared_from_this<RequestRoom> {
 public:
  using Next = std::function<void(Held)>;

  /// Bytes wait for room for at most `patience`.
  RequestRoom(boost::asio::any_io_executor executor, Clock::duration patience,
              std::shared_ptr<AddressBytes> address);

  /// The bytes count there from now on. Called while none are awaited.
  void SetAddress(std::shared_ptr<AddressBytes> address);
  /// What Hold is called for now is another request.
  void BeginRequest() { turn_.reset(); }
  /// Calls `next` with `bytes` more of the request, which has `before` bytes already, at once or
  /// when the address has room for them. One request of an address at a time is given more than the
  /// address may hold, so that those that are half read do not wait for each other for ever. `next`
  /// gets null if all addresses together have no room, if this one has none in time, or after
  /// Close. Not called again before `next` was.
  void Hold(std::int64_t before, std::int64_t bytes, Next next);
  bool is_waiting() const { return awaited_.has_value(); }
  /// `next` is called soon, and from now on at once.
  void Close();

 private:
  /// Bytes that wait for room.
  struct Awaited {
    std::int64_t before = 0;
    std::int64_t bytes = 0;
    Next next;
    std::shared_ptr<HeldBytes::Wake> wake;
  };

  /// Null if there is no room now.
  Held TryHold(std::int64_t before, std::int64_t bytes);
  void Wait(bool is_first);
  /// Called when there may be room.
  void Retry();
  void EndWait(Held held);

  const boost::asio::any_io_executor executor_;
  const Clock::duration patience_;
  std::shared_ptr<AddressBytes> address_;
  std::optional<Awaited> awaited_;
  boost::asio::steady_timer timer_;
  /// The turn of the request: see HeldBytes::TakeTurn. Its bytes hold it.
  std::weak_ptr<void> turn_;
  bool is_closed_ = false;
};

}  // namespace scorecast::coordinator
