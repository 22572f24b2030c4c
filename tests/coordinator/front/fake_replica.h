#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// A replica that computes nothing: a server of frames on a free port of the loopback address, in
/// the loop of the test. Says its state with every message, and when it is told to.
class FakeReplica {
 public:
  explicit FakeReplica(boost::asio::io_context& io, const std::string& name = "r");
  ~FakeReplica();
  FakeReplica(const FakeReplica&) = delete;
  FakeReplica& operator=(const FakeReplica&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Closes its connections, and refuses others.
  void Die();
  /// Accepts connections again, on the same port.
  void Revive();
  /// Sends a response over the connection on which the request came that has its id.
  void Send(v1::Response response);
  /// The last or only part of the reply to an HTTP request. Its body is the replica's name, ':'
  /// and the body of the request.
  void Answer(const v1::Request& request);
  /// Answers all that it holds.
  void AnswerAll();
  /// Sends a response to all fronts.
  void SendToAll(const v1::Response& response);
  /// Says its state to them.
  void SayStatus() { SendToAll({}); }

  // What it says, and does. Tests change it.
  std::string name;
  v1::HelloReply hello;
  v1::Status status;
  std::string front_key = "key";
  bool holds = false;  ///< Requests are kept in `held`, and not answered.
  bool is_silent = false;
  bool is_draining = false;  ///< Refuses requests, but does not say so in its state.
  /// What it answers. If it is empty: see Answer.
  std::function<v1::HttpReply(const v1::Request&)> reply = nullptr;

  // What it has seen.
  std::vector<v1::Request> held;
  std::vector<v1::Request> seen;         ///< All requests.
  std::vector<std::uint64_t> cancelled;  ///< Ids.
  int greeted = 0;                       ///< Number of connections.

 private:
  struct Session;

  void Accept();
  void Handle(const std::shared_ptr<Session>& session, const v1::Request& request);
  static void Read(FakeReplica* replica, const std::shared_ptr<Session>& session);
  static void Write(const std::shared_ptr<Session>& session);
  void SendTo(const std::shared_ptr<Session>& session, v1::Response response);

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::socket reserved_;
  std::shared_ptr<boost::asio::ip::tcp::acceptor> acceptor_;  ///< Null while it is dead.
  std::uint16_t port_ = 0;
  std::set<std::shared_ptr<Session>> sessions_;
};

/// What replicas of the model say of themselves.
v1::HelloReply FactsOf(const std::string& model);

/// Runs the loop until the condition holds. False if it does not within half a minute.
bool RunUntil(boost::asio::io_context& io, const std::function<bool()>& holds);

/// The bytes of an HTTP request.
std::string HttpRequestOf(const std::string& body);

}  // namespace scorecast::coordinator
