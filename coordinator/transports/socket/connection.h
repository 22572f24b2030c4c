#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/transports/socket/pending_request.h"
#include "coordinator/transports/socket/request_handler.h"
#include "coordinator/transports/socket/socket_options.h"
#include "proto/base/error.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

/// What all connections of a server share.
struct ConnectionContext {
  const SocketOptions& options;
  RequestHandler& handler;
  HeldBytes& messages;  ///< That are being read, or wait to be.
};

/// One client: reads frames, and writes the answers to each, in any order. Lives until both sides
/// are done with it. All its work is done on its strand; what it holds in memory is bounded by one
/// frame, kMaxInFlight requests and kMaxAnswerBytes of answers, whatever the client does; what all
/// hold together by SocketOptions::max_held_bytes, and a small answer of each.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Closed = std::function<void(std::uint64_t id)>;

  /// `closed` is called once, when the socket is closed.
  Connection(std::uint64_t id, Socket socket, ConnectionContext& context, Closed closed);

  void Start();
  /// Tells the client why it is not served, and closes.
  void Refuse(proto::Error error);
  /// Closes as soon as no request is in flight and every answer is written; from any thread.
  void CloseWhenDone();
  /// Closes now; from any thread.
  void Close();

 private:
  /// Further requests wait in the client's socket while more than this is on its way back, be it
  /// still to be computed or not read by the client.
  static constexpr std::size_t kMaxInFlight = 256;
  static constexpr std::int64_t kMaxAnswerBytes = std::int64_t{4} << 20;
  /// A message is read in pieces, so that a length alone costs no memory.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
  /// How long a client has to close its side after this one: closing a socket with unread bytes in
  /// it would reset the connection, and answers on their way would be lost.
  static constexpr auto kLingerTime = std::chrono::seconds(1);
  /// How often a client that is not read is looked at: nothing else would tell that it has left.
  static constexpr auto kLeaveCheck = std::chrono::milliseconds(500);

  // Each continues on the strand.
  void ReadHeader();
  void ReadMessage(std::size_t length);
  void SkipMessage(std::size_t length);
  void Write();
  void WatchIdle();
  /// While reading is paused.
  void WatchLeaving();

  void HandleMessage();
  void Deliver(std::uint64_t number, Reply reply);
  void AnswerError(const proto::Error& error);
  void Answer(Reply reply);
  /// The condition on which a read or a write of all bytes goes on: it does, and was progress.
  auto WithProgress();
  void Progress();
  bool MayRead() const;
  void ResumeReading();
  void ReleaseMessage();
  /// Says that no further answer comes; what the client still sends is not looked at.
  void Finish();
  void FinishIfDone();
  void CloseNow();

  const std::uint64_t id_;
  Socket socket_;  // Its executor is the strand.
  ConnectionContext& context_;
  Closed closed_;
  boost::asio::steady_timer idle_timer_;
  Clock::time_point last_progress_ = Clock::now();
  boost::asio::steady_timer leaving_timer_;

  proto::FrameHeader header_{};
  std::string message_;
  std::vector<Held> held_;  // A part of message_ each.
  bool reading_paused_ = false;
  bool beginning_ = false;  // A message is being read that takes its time.

  HeldBytes held_answers_;     // Of `answers_`, and of those in flight.
  std::deque<Reply> answers_;  // The first is being written.

  std::uint64_t next_request_ = 0;
  /// By our own number: nothing keeps a client from using one twice.
  std::unordered_map<std::uint64_t, std::shared_ptr<PendingRequest>> in_flight_;
  bool close_when_done_ = false;
  bool is_finishing_ = false;
  bool is_closed_ = false;
};

}  // namespace scorecast::coordinator
