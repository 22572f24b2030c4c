#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/front/replica_connector.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/transports/connection/byte_stream.h"
#include "proto/scorecast.pb.h"
#include "proto/tls/client_tls.h"

namespace scorecast::coordinator {

/// How a front connects to its replicas.
struct ReplicaOptions {
  std::string front_key;
  std::string version;                  ///< Of this program.
  std::optional<proto::ClientTls> tls;  ///< If unset, connections are plain TCP.
  /// Limits the time to connect, and then the time until the replica says what it is.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  // Time between two attempts: it doubles while they fail.
  std::chrono::milliseconds first_pause = std::chrono::milliseconds(100);
  std::chrono::milliseconds longest_pause = std::chrono::seconds(5);
  /// A replica that has sent nothing for so long is silent. It is to say its state twenty times as
  /// often.
  std::chrono::milliseconds silence = std::chrono::seconds(2);
  /// For so long after it is listed, a replica that has said nothing yet may be one of any model.
  std::chrono::milliseconds unknown_time = std::chrono::seconds(10);
  // How long a replica is set aside that has sent a bad reply: see Replicas::SetAside.
  std::chrono::milliseconds first_aside = std::chrono::seconds(1);
  std::chrono::milliseconds longest_aside = std::chrono::seconds(60);
  /// Upper bound on the bytes of requests that wait to be written. One request may have more.
  std::size_t max_unsent_bytes = std::size_t{64} << 20;
  /// A longer reply is not read. The default is the most that a server keeps of replies.
  std::size_t max_reply_bytes = std::size_t{1} << 30;
};

/// What the sender of a request is told.
struct ReplicaReply {
  enum class Kind {
    kPart,  ///< Further parts follow.
    kLast,
    kLost,  ///< The replica is lost, and nothing follows. `response` is empty.
  };
  Kind kind = Kind::kLost;
  v1::Response response = {};
};

/// The connection of a front to a replica's request socket. It is made again whenever it is lost:
/// when the replica closes it, is silent, or breaks the protocol. Used only on its executor, which
/// runs one handler at a time.
class ReplicaConnection : public std::enable_shared_from_this<ReplicaConnection> {
 public:
  /// Called for each part of the reply to a request, until it is the last one or the replica is
  /// lost. Never called from inside Send. May call any function of the connection.
  using Handler = std::function<void(ReplicaReply)>;

  /// Each may be empty.
  struct Events {
    std::function<void()> ready = {};   ///< It has said what it is, and trusts this front.
    std::function<void()> status = {};  ///< Its state may have changed: see status().
    /// It was ready, and is lost. Called before the handlers of its requests are.
    std::function<void()> lost = {};
  };

  ReplicaConnection(const boost::asio::any_io_executor& executor, std::string name,
                    std::string address, std::shared_ptr<const ReplicaOptions> options,
                    Events events);

  /// Begins to connect. Called once.
  void Start();
  /// Sends no further requests, and ends when all in flight have been replied to. Calls no event
  /// any more.
  void Retire();
  /// Ends at once. Requests in flight are lost. Calls no event any more.
  void Close();

  const std::string& name() const { return name_; }
  const std::string& address() const { return address_; }
  /// Whether it can be sent requests, as far as the connection goes.
  bool is_ready() const { return link_ != nullptr && link_->is_greeted && !is_retired_; }
  /// Whether it also says that it can serve.
  bool is_usable() const { return is_ready() && status().ready() && !status().draining(); }
  bool has_ended() const { return has_ended_; }
  /// What the replica has said of itself. Only if is_ready().
  const v1::HelloReply& hello() const { return link_->hello; }
  /// What it has said last. Only if is_ready().
  const v1::Status& status() const { return link_->status; }
  std::size_t in_flight() const { return link_ == nullptr ? 0 : link_->in_flight.size(); }

  /// Whether a request of so many bytes may be sent now.
  bool HasRoomFor(std::size_t bytes) const;
  /// Sends a request: the bytes of a v1::Request without `request_id` and `forwarded`. Returns the
  /// id by which it can be cancelled. Only if is_ready().
  std::uint64_t Send(std::string_view request, const v1::Forwarded& forwarded, Handler handler);
  /// Tells the replica that the reply to a request is not wanted, and does not call its handler any
  /// more. Does nothing if the request is not in flight.
  void Cancel(std::uint64_t id);

 private:
  /// One TCP connection.
  struct Link {
    std::unique_ptr<ByteStream> stream;
    std::string read;      ///< Room for what was read.
    std::size_t have = 0;  ///< Bytes in it.
    std::string writing;   ///< Frames that are being written; empty if none are.
    std::string unsent;    ///< Frames behind these.
    bool is_greeted = false;
    v1::HelloReply hello;
    v1::Status status;
    Clock::time_point begun;
    Clock::time_point heard;  ///< When bytes were read last.
    /// By id, and so in the order in which they were sent. Shared, because a handler may cancel its
    /// own request.
    std::map<std::uint64_t, std::shared_ptr<Handler>> in_flight;
  };
  using LinkPtr = std::shared_ptr<Link>;

  void Connect();
  void ConnectLater();
  void OnConnected(std::unique_ptr<ByteStream> stream, const std::string& fault);
  void SayHello();
  void Read(const LinkPtr& link);
  /// Handles the frames that have been read whole. False if the link was lost.
  bool HandleFrames(const LinkPtr& link);
  void HandleResponse(const LinkPtr& link, v1::Response response);
  void HandleGreeting(v1::Response& response);
  void HandleReply(const LinkPtr& link, v1::Response response);
  void Write(const LinkPtr& link);
  void Listen(const LinkPtr& link);
  /// Drops the link, and fails its requests.
  void Lose(const std::string& fault);
  void Note(const std::string& fault);

  const boost::asio::any_io_executor executor_;
  const std::string name_;
  const std::string address_;
  const std::shared_ptr<const ReplicaOptions> options_;
  Events events_;
  boost::asio::steady_timer retry_timer_;
  boost::asio::steady_timer silence_timer_;
  std::chrono::milliseconds pause_;
  std::shared_ptr<ReplicaConnector> connector_;  ///< Null if it does not connect.
  LinkPtr link_;                                 ///< Null if it is not connected.
  std::uint64_t last_id_;
  std::uint64_t hello_id_ = 0;
  std::string noted_;  ///< The fault that was logged last, since it was ready.
  bool is_retired_ = false;
  bool has_ended_ = false;
};

}  // namespace scorecast::coordinator
