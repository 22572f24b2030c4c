#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/access/api_keys.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/service/call.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/address_bytes.h"
#include "coordinator/transports/connection/byte_stream.h"
#include "coordinator/transports/connection/client_counters.h"
#include "coordinator/transports/connection/connection_call.h"
#include "coordinator/transports/connection/memory_return.h"
#include "coordinator/transports/connection/protocol.h"
#include "coordinator/transports/connection/request_room.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What all connections of a server share.
struct ConnectionContext {
  std::chrono::milliseconds idle_timeout;  ///< See SocketOptions.
  std::chrono::milliseconds read_timeout;  ///< See SocketOptions.
  Clock::duration room_patience;           ///< See Connection::HoldRequest.
  ClientCounters& counters;
  MemoryReturn& memory;
  /// Ends calls whose client has left. Called on any thread.
  std::function<void(const std::vector<std::shared_ptr<Call>>&)> cancel;
  /// Is told how long the first byte of a request waited unread. Called on any thread.
  std::function<void(Clock::duration)> note_io_wait;
  /// Counts an error that belongs to no request of an endpoint. Called on any thread.
  /// `holder` may be null.
  std::function<void(const ClientId& client, const Holder& holder, const proto::Error& error)>
      count_refusal;
  /// The bytes of a client: see Connection::SetClient and BytesOf. Called on any thread.
  std::function<std::shared_ptr<AddressBytes>(const ClientName& address)> bytes_of = {};
  /// The bytes of a front. Called on any thread.
  std::function<std::shared_ptr<AddressBytes>()> bytes_of_front = {};
};

/// Flow control of one client: says when the next request is read, writes replies in the order in
/// which they are ready, and ends the connection. The Protocol knows what requests look like, and
/// the ByteStream carries the bytes. Lives until both sides are done with it. All its work is done
/// on the stream's executor, which runs one handler at a time.
///
/// Its memory is bounded whatever the client does: no further request is read while
/// Protocol::max_in_flight requests are in flight (of the next one, a short message at most; see
/// Protocol::reads_ahead) or kMaxReplyBytes of replies are held. The
/// connections of a client address together hold at most
/// SocketOptions::max_held_bytes_per_address of replies, and all connections at most
/// SocketOptions::max_held_bytes, plus one small reply for each connection: a connection without
/// replies always reads, and one with replies looks again when each of them is written. A front has
/// wider bounds: see BecomeFront.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Closed = std::function<void(std::uint64_t id)>;

  /// `peer` is the client that connects. `closed` is called once, with `peer.connection`, when the
  /// stream is closed.
  Connection(ClientId peer, std::unique_ptr<ByteStream> stream, std::unique_ptr<Protocol> protocol,
             const ConnectionContext& context, std::shared_ptr<AddressBytes> address_bytes,
             Closed closed);

  /// Called before Start if the client is a trusted proxy, at this address.
  void SetProxy(const boost::asio::ip::address& proxy) { proxy_ = proxy; }

  // Called on any thread. Exactly one of Start and Refuse is called, once.

  /// Begins to read requests.
  void Start();
  /// Tells the client why it is not served, then closes the connection.
  void Refuse(proto::Error error);
  /// Closes as soon as no request is in flight and every reply is written.
  void CloseWhenDone();
  void Close();

  // For its calls, on any thread: see ConnectionCall.

  const std::shared_ptr<HeldBytes>& replies() { return held_replies_; }
  /// The bytes of its client address.
  const std::shared_ptr<AddressBytes>& address_bytes() { return address_bytes_; }
  /// The bytes of another client, for whom a front passes a request on.
  std::shared_ptr<AddressBytes> BytesOf(const ClientName& client) const {
    return context_.bytes_of(client);
  }
  void Begun();
  void Post(std::function<void()> work);
  void Deliver(const std::shared_ptr<ConnectionCall>& call, Reply reply);

  // For the protocol, on the executor.

  ByteStream& stream() { return *stream_; }
  /// The client that connected.
  const ClientId& peer() const { return peer_; }
  /// The address of a trusted proxy; nothing if the peer is none.
  const std::optional<boost::asio::ip::address>& proxy() const { return proxy_; }
  /// Whose requests those are that are begun now: the peer's, until SetClient says otherwise.
  const ClientId& client() const { return client_; }
  const Holder& holder() const { return holder_; }
  /// The requests that are begun from now on are those of another client, which the key of `holder`
  /// names; null if the client has shown no key. `client.connection` is this connection. Its I/O
  /// has its turns among those of the client, and its bytes count there, unless some of the
  /// connection's bytes still count elsewhere. Called while no bytes of HoldRequest are awaited.
  void SetClient(ClientId client, Holder holder);
  /// Who makes the next request is not known yet: until SetClient is called, faults count as the
  /// peer's. Turns and bytes stay where they are, since most often the client is the same.
  void ForgetClient();
  /// The client has shown the key of a front: it makes the requests of many clients, whom it has
  /// let in and bounds by itself. From now on kMaxOfFront requests may be in flight, a request
  /// begins although the one before it is not queued yet, and bytes that arrive count for no
  /// address. For whom a request is passed on, what it becomes counts: see Forward.
  void BecomeFront(Holder front);
  /// The key of the front; null if the client is none.
  const Holder& front() const { return front_; }
  /// How many requests may be in flight.
  std::size_t max_in_flight() const {
    return front_ == nullptr ? protocol_->max_in_flight() : kMaxOfFront;
  }
  /// Whether replies are being written.
  bool is_writing() const { return !replies_.empty(); }
  /// Whether requests that still arrive are dropped.
  bool is_ending() const { return has_ended() || reads_no_more_; }

  /// Called when the first byte of a request was read. From then on until BeginRequest or
  /// ReadNext is called, the time limit of a request counts: see SocketOptions::read_timeout.
  /// `header_timeout` also counts, until HeaderRead is called.
  void BeginReading(std::optional<std::chrono::milliseconds> header_timeout = std::nullopt);
  /// Called when the part of the request that has a time limit of its own has arrived.
  void HeaderRead() { header_timeout_.reset(); }
  using Next = RequestRoom::Next;
  /// Called before `bytes` more of the request that is being read are kept, which has `before`
  /// bytes already; at least kLongBytes if it will certainly have more, so that the reserve for
  /// short requests is not taken by long ones that wait. Calls `next` with the bytes, at once or
  /// when the client's address has room for them; see RequestRoom::Hold. `next` gets null if there
  /// is no room within ConnectionContext::room_patience, or if the connection ends. Not called
  /// again before `next` was.
  void HoldRequest(std::int64_t before, std::int64_t bytes, Next next);
  /// The same for all bytes of a call in flight, which count for `address`. Meanwhile further
  /// requests are read and begun: they may be those of other clients. `next` also gets null if the
  /// call is cancelled.
  void HoldFor(const std::shared_ptr<ConnectionCall>& call, std::shared_ptr<AddressBytes> address,
               std::int64_t bytes, Next next);
  /// Calls `next` when a request may begin: at once, or later, and then nothing is read meanwhile.
  /// The time limit of a request does not count meanwhile. Also calls it if the connection is
  /// ending.
  void AwaitBegin(std::function<void()> next);
  /// Called when a request has arrived as a whole. `format` may be null if the protocol replies to
  /// it by itself.
  std::shared_ptr<ConnectionCall> BeginRequest(std::unique_ptr<CallFormat> format);
  /// Ends the requests in flight that have this number (see CallFormat::number) as if their client
  /// had left. The protocol replies to them. Returns how many they are.
  std::size_t Cancel(std::uint64_t number);
  /// Called when the protocol is done with a request's bytes. Reads the next one, at once or as
  /// soon as the bounds allow.
  void ReadNext();
  /// Called instead of ReadNext when the client sends no more. Closes the connection when the
  /// replies that are ready are written, or at once if a request is in flight: the client has then
  /// left.
  void EndInput();
  /// Sends bytes that belong to no request in flight.
  void Send(Reply reply);
  /// Counts an error that the protocol sends by itself.
  void CountRefusal(const proto::Error& error) { context_.count_refusal(client_, holder_, error); }
  /// Sends an error that belongs to no request in flight.
  void SendError(const proto::Error& error);
  /// The same, then closes the connection as soon as no request is in flight and every reply is
  /// written. Called instead of ReadNext if the rest of the client's bytes cannot be understood.
  void SendLastError(const proto::Error& error);
  /// Closes the stream and cancels the requests in flight.
  void CloseNow();

 private:
  static constexpr std::int64_t kMaxReplyBytes = std::int64_t{4} << 20;
  static constexpr std::int64_t kMaxReplyBytesOfFront = std::int64_t{256} << 20;
  static constexpr std::size_t kMaxOfFront = std::size_t{64} << 10;
  static constexpr std::size_t kDiscardBytes = std::size_t{16} << 10;
  /// About what a connection takes besides its requests and replies.
  static constexpr std::int64_t kConnectionBytes = 4096;
  /// How long the client has to close its side after the server closed its own. Closing a stream
  /// with unread bytes in it would reset the connection, and replies on their way would be lost.
  static constexpr auto kLingerTime = std::chrono::seconds(1);
  /// While reading is paused, no read notices that the client has left, so this is polled at this
  /// interval; and so is whether reading may go on, since bytes may be freed without a reply.
  static constexpr auto kLeaveCheck = std::chrono::milliseconds(500);
  /// A request has a second more to arrive for each of these many bytes that have arrived.
  static constexpr std::int64_t kReadBytesPerSecond = std::int64_t{64} << 10;
  /// The system's time of an arrival is a multiple of up to this.
  static constexpr auto kArrivalResolution = std::chrono::milliseconds(10);
  /// If bytes wait to be read when the time of a request is over, the server was the slow one. The
  /// request then has this much more time.
  static constexpr auto kUnreadGrace = std::chrono::seconds(1);

  bool has_ended() const { return is_closed_ || is_finishing_; }
  bool MayRead() const;
  bool MayBegin() const;
  /// How long the bytes that were read last may have waited for that; at least.
  Clock::duration IoWait() const;
  void PauseReading();
  void ResumeReading();
  void DiscardInput();
  /// Sends a reply to a call in flight.
  void Take(const std::shared_ptr<ConnectionCall>& call, Reply reply);
  /// Takes no further request, and closes the connection when everything is written.
  void TakeNoMore();
  /// Forgets a call that was in flight. False if it is none any more, because it was cancelled.
  bool Forget(const std::shared_ptr<ConnectionCall>& call);
  void EndWith(const proto::Error& error);
  /// The count of this connection's replies, among those of its client.
  std::shared_ptr<HeldBytes> NewReplyCount() const;
  /// The call does not wait for room any longer.
  void EndHolding(const ConnectionCall& call);
  void Write();
  void WatchIdle();
  /// Ends the connection if the request that is being read takes too long.
  void WatchReading(Clock::time_point deadline);
  /// Lets that be looked at in time.
  void LimitReading();
  Clock::time_point ReadingDeadline() const;
  std::int64_t RequestBytes() const { return stream_->bytes_read() - read_before_; }
  /// Polls whether the client has left, while reading is paused.
  void WatchLeaving();
  /// When the idle timeout began: at the last transfer, or when the client last had a reason to be
  /// silent.
  Clock::time_point IdleSince() const;
  /// Sends no more, and drops what the client still sends until it closes its side.
  void Finish();
  void FinishIfDone();

  const ClientId peer_;
  std::optional<boost::asio::ip::address> proxy_;
  ClientId client_;  ///< See SetClient.
  // Clients of which SetClient was told.
  ClientId turns_client_;    ///< Has the turns.
  ClientName bytes_client_;  ///< `address_bytes_` are its bytes.
  Holder holder_;
  Holder front_;  ///< See BecomeFront.
  const std::unique_ptr<ByteStream> stream_;
  const std::unique_ptr<Protocol> protocol_;
  const ConnectionContext& context_;
  const Closed closed_;
  boost::asio::steady_timer idle_timer_;          ///< Also measures the linger time.
  Clock::time_point last_excuse_ = Clock::now();  ///< See IdleSince.
  boost::asio::steady_timer leaving_timer_;

  /// When the first byte of the request that is being read was read. Empty between requests.
  std::optional<Clock::time_point> reading_since_;
  Clock::time_point arrived_;                                ///< When it could have been read.
  std::optional<std::chrono::milliseconds> header_timeout_;  ///< See BeginReading.
  std::int64_t read_before_ = 0;  ///< Bytes read when that request began.
  /// Runs on between requests, so that a request which arrives at once does not set it.
  boost::asio::steady_timer reading_timer_;
  bool is_reading_watched_ = false;  ///< `reading_timer_` runs.

  bool reading_paused_ = false;
  std::function<void()> begins_;  ///< See AwaitBegin; empty if nothing is awaited.
  bool beginning_ = false;        ///< The last call has not called Begun yet.
  std::vector<char> discarded_;

  std::shared_ptr<AddressBytes> address_bytes_;
  /// Bytes of `replies_`, and of replies to calls in flight. Shared with these calls.
  std::shared_ptr<HeldBytes> held_replies_;
  std::deque<Reply> replies_;  ///< The first is being written.

  const std::shared_ptr<RequestRoom> room_;  ///< Of the request that is being read.
  /// Of the calls in flight that wait: see HoldFor.
  std::map<const ConnectionCall*, std::shared_ptr<RequestRoom>> rooms_;

  /// Each until its last reply comes, it is cancelled, or the connection is closed. By their
  /// numbers: see CallFormat::number. Each is found at once, although a client may give one number
  /// to all.
  std::set<std::pair<std::uint64_t, std::shared_ptr<ConnectionCall>>> in_flight_;
  bool close_when_done_ = false;
  bool reads_no_more_ = false;  ///< No further request is taken.
  bool has_input_ended_ = false;
  bool is_finishing_ = false;
  bool is_closed_ = false;
};

}  // namespace scorecast::coordinator
