#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/generate/completion_generator.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/service/call.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/address_bytes.h"
#include "coordinator/transports/connection/call_format.h"

namespace scorecast::coordinator {

class Connection;
class ConnectionCall;

/// Bytes for the client: the whole response to a request, or the next part of it.
struct Reply {
  std::string bytes;
  Held held;
  bool is_last = true;  ///< No further reply comes for the request.
  /// Called once the bytes are in the client's socket, unless the client has left; may be empty.
  std::function<void()> written = {};
  /// The connection is to be closed when this last reply is written.
  bool ends_connection = false;
  /// Bytes that follow `bytes`, and that replies share; may be null.
  std::shared_ptr<const std::string> rest = nullptr;
};

/// A last reply, whose bytes count in `replies`. The string keeps no more room than that. The bytes
/// of `rest` count for each reply, because any of them may be the last that holds them.
Reply ToReply(std::string bytes, HeldBytes& replies,
              std::shared_ptr<const std::string> rest = nullptr);

/// Forms the replies to calls that a RequestService computes. Called on any thread.
class CallResponder {
 public:
  /// The bytes of a delta of a call that streams.
  virtual std::string FormDelta(ConnectionCall& call, const EndpointResponse& delta) = 0;
  /// Forms the reply to a call that is over, and sends it, unless the client has left.
  virtual void Respond(std::shared_ptr<ConnectionCall> call) = 0;
  /// Called once for each call, when it is over. The responder may be destroyed afterwards.
  virtual void Ended() = 0;

 protected:
  ~CallResponder() = default;
};

/// A call that came over a connection, which has it from BeginRequest until its last reply is
/// delivered or the client has left.
///
/// Deltas are sent in order and before the response. Only one reply with deltas is being written at
/// a time. Deltas that arrive meanwhile wait here, merged into one for each output. A client that
/// does not read therefore takes no more memory than its response has room for (see
/// EndpointRequest::ResponseBytesBound).
class ConnectionCall : public Call {
 public:
  /// `format` is null if the protocol replies by itself. No handler and no service may have such a
  /// call, which has no id and no format. `arrived_bytes` is what the request took of the stream.
  ConnectionCall(const std::shared_ptr<Connection>& connection, std::unique_ptr<CallFormat> format,
                 Clock::time_point arrived, std::int64_t arrived_bytes);

  std::string_view id() const override { return format_->id(); }
  HeldBytes& replies() override { return *replies_; }
  std::int64_t bytes_per_message_byte() const override { return format_->bytes_per_message_byte(); }

  /// The count that the bytes of its request belong to.
  HeldBytes& requests() { return address_bytes_->requests; }
  /// They, and those of its replies, belong to this one: that of the client for whom a front passes
  /// the request on. Called before the call is handled.
  void SetBytes(std::shared_ptr<AddressBytes> bytes) {
    replies_ = std::make_shared<HeldBytes>(bytes->replies.limit(), &bytes->replies);
    address_bytes_ = std::move(bytes);
  }

  /// Whether the client was let in by a front, or is one: see Connection::BecomeFront.
  bool is_of_front() const { return is_of_front_; }

  CallFormat& format() { return *format_; }
  /// See CallFormat::number.
  std::uint64_t number() const { return format_ == nullptr ? 0 : format_->number(); }
  std::int64_t arrived_bytes() const { return arrived_bytes_; }
  std::shared_ptr<ConnectionCall> self() {
    return std::static_pointer_cast<ConnectionCall>(shared_from_this());
  }

  // Called on any thread.

  /// Must be called once, when the bytes that the reply may take count as held. The connection
  /// begins no further request before that, unless its client is a front.
  void Begun();
  /// Must be called for each reply, in order. Does nothing once the client has left.
  void Send(Reply reply);
  /// Runs `work`, which is short, at a turn of the connection. Drops it if the client has left and
  /// the connection is gone.
  void Post(std::function<void()> work);

  /// Called once, before a RequestService has the call.
  void SetResponder(CallResponder& responder) { responder_ = &responder; }

 private:
  void OnDelta(std::size_t output, CompletionDelta delta) override;
  void OnEnd() override;

  /// Lets Step run, at a turn of the connection.
  void PostStep();
  /// Sends the waiting deltas, then the response if there is one. Runs one at a time.
  void Step();

  /// Weak, because the job of a call that is over may last longer than the server.
  const std::weak_ptr<Connection> connection_;
  std::shared_ptr<AddressBytes> address_bytes_;
  std::shared_ptr<HeldBytes> replies_;
  const std::unique_ptr<CallFormat> format_;
  const std::int64_t arrived_bytes_;
  const bool is_of_front_;
  CallResponder* responder_ = nullptr;

  std::mutex mutex_;
  std::map<std::size_t, CompletionDelta> waiting_;  ///< By output.
  bool has_response_ = false;  ///< The response is to follow the deltas that wait.
  bool is_busy_ = false;  ///< A step will come: it was posted, or follows the reply being written.
};

}  // namespace scorecast::coordinator
