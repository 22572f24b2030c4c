#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include "coordinator/doors/score_service.h"
#include "coordinator/socket/socket_options.h"
#include "proto/base/error.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

/// What all connections of a server share.
struct ConnectionContext {
  ScoreService& service;
  const SocketOptions& options;
  std::atomic<bool> draining = false;  ///< New requests get a 503.
  /// Tokenizes what would keep an I/O thread, and its other clients, waiting.
  boost::asio::thread_pool long_messages{1};
  // Of all connections together: of messages that are being read or wait in long_messages, and of
  // answers, from their requests' arrival on.
  std::atomic<std::int64_t> message_bytes = 0;
  std::atomic<std::int64_t> answer_bytes = 0;
};

/// One client: reads frames, answers each exactly once, in any order. Lives until both sides are
/// done with it. All work is done on its strand, but for tokenizing a long message; what it holds
/// in memory is bounded by one frame, kMaxInFlight requests and kMaxAnswerBytes of answers,
/// whatever the client does; what all hold together by SocketOptions::max_held_bytes, and one
/// small answer of each.
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
  /// A larger answer is refused where all connections together hold too much.
  static constexpr std::int64_t kSmallAnswerBytes = std::int64_t{64} << 10;
  /// A message is read in pieces, so that a length alone costs no memory.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
  /// Messages that are longer are not tokenized on an I/O thread.
  static constexpr std::size_t kLongMessageBytes = std::size_t{64} << 10;
  /// How long a client has to close its side after this one: closing a socket with unread bytes in
  /// it would reset the connection, and answers on their way would be lost.
  static constexpr auto kLingerTime = std::chrono::seconds(1);

  // Each continues on the strand.
  void ReadHeader();
  void ReadMessage(std::size_t length);
  void SkipMessage(std::size_t length);
  void Write();
  void WatchIdle();

  void HandleMessage();
  void HandleScore(std::uint64_t request_id, const v1::ScoreRequest& message,
                   std::size_t message_bytes);
  /// On the strand, or on the thread for long messages. `number` is ours, see `in_flight_`.
  void Ask(std::uint64_t request_id, std::uint64_t number, const ScoreRequest& request,
           Clock::time_point arrived);
  void AnswerScore(std::uint64_t request_id, std::uint64_t number,
                   const ScoreService::Finish& finish);
  void AnswerError(std::uint64_t request_id, const proto::Error& error);
  void Answer(const v1::Response& response);
  void Progress();
  bool MayRead() const;
  void ResumeReading();
  /// False where all connections together hold too much already.
  bool HoldMessageBytes(std::size_t bytes);
  std::shared_ptr<void> HoldWhileAsked(std::size_t bytes);
  void HoldAnswerBytes(std::int64_t bytes);  // Less than 0: no longer.
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

  proto::FrameHeader header_{};
  std::string message_;
  std::size_t held_bytes_ = 0;  // Of message_, in the context's count.
  bool reading_paused_ = false;

  std::deque<std::string> answers_;  // The first is being written.
  std::int64_t answer_bytes_ = 0;    // Of them, and of those in flight.

  struct InFlight {
    Scheduler::Ticket ticket = Scheduler::kNoTicket;
    std::int64_t answer_bytes = 0;
  };
  std::uint64_t next_request_ = 0;
  std::unordered_map<std::uint64_t, InFlight> in_flight_;  // By our own number.
  bool close_when_done_ = false;
  bool is_finishing_ = false;
  std::atomic<bool> is_closed_ = false;
};

}  // namespace scorecast::coordinator
