#include "tests/coordinator/front/fake_replica.h"

#include <chrono>
#include <utility>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>

#include "proto/wire/frame.h"

namespace scorecast::coordinator {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

struct FakeReplica::Session {
  explicit Session(tcp::socket accepted) : socket(std::move(accepted)) {}

  tcp::socket socket;
  proto::FrameHeader header{};
  std::string message;
  std::string writing;
  std::string unsent;
  std::set<std::uint64_t> ids;  ///< Of requests.
  bool is_front = false;
  bool is_closed = false;
};

FakeReplica::FakeReplica(asio::io_context& io, const std::string& own_name)
    : name(own_name), hello(FactsOf("m")), io_(io), reserved_(io) {
  status.set_ready(true);
  // Keeps the port while the replica is dead. A socket that does not listen refuses connections.
  reserved_.open(tcp::v4());
  reserved_.set_option(ReusePort(true));
  reserved_.bind({asio::ip::address_v4::loopback(), 0});
  port_ = reserved_.local_endpoint().port();
  Revive();
}

FakeReplica::~FakeReplica() { Die(); }

void FakeReplica::Die() {
  acceptor_.reset();
  for (const auto& session : sessions_) {
    error_code ignored;
    session->is_closed = true;
    session->socket.close(ignored);
  }
  sessions_.clear();
  held.clear();
}

void FakeReplica::Revive() {
  acceptor_ = std::make_shared<tcp::acceptor>(io_, tcp::v4());
  acceptor_->set_option(ReusePort(true));
  acceptor_->bind({asio::ip::address_v4::loopback(), port_});
  acceptor_->listen();
  Accept();
}

void FakeReplica::Accept() {
  acceptor_->async_accept(
      [this, acceptor = std::weak_ptr(acceptor_)](const error_code& error, tcp::socket socket) {
        if (error || acceptor.expired()) {
          return;  // It has died, and perhaps no longer exists.
        }
        const auto session = std::make_shared<Session>(std::move(socket));
        sessions_.insert(session);
        Read(this, session);
        Accept();
      });
}

void FakeReplica::Read(FakeReplica* replica, const std::shared_ptr<Session>& session) {
  asio::async_read(session->socket, asio::buffer(session->header),
                   [replica, session](const error_code& error, std::size_t) {
                     if (session->is_closed) {
                       return;
                     }
                     if (error) {
                       replica->sessions_.erase(session);
                       return;
                     }
                     session->message.resize(proto::FrameLength(session->header));
                     asio::async_read(session->socket, asio::buffer(session->message),
                                      [replica, session](const error_code& fault, std::size_t) {
                                        v1::Request request;
                                        if (session->is_closed || fault ||
                                            !request.ParseFromString(session->message)) {
                                          return;
                                        }
                                        replica->Handle(session, request);
                                        Read(replica, session);
                                      });
                   });
}

void FakeReplica::Handle(const std::shared_ptr<Session>& session, const v1::Request& request) {
  v1::Response response;
  response.set_request_id(request.request_id());
  if (request.has_hello()) {
    if (request.hello().front_key() == front_key) {
      session->is_front = true;
      ++greeted;
      *response.mutable_hello() = hello;
      response.mutable_hello()->set_trusted(true);
    } else {
      response.mutable_error()->set_code(401);
      response.mutable_error()->set_reason("unauthorized");
    }
    SendTo(session, response);
  } else if (request.has_cancel()) {
    cancelled.push_back(request.cancel().request_id());
    std::erase_if(held, [&](const v1::Request& one) {
      return one.request_id() == request.cancel().request_id();
    });
  } else {
    seen.push_back(request);
    session->ids.insert(request.request_id());
    if (is_draining) {
      response.mutable_error()->set_code(503);
      response.mutable_error()->set_reason("draining");
      SendTo(session, response);
    } else if (holds) {
      held.push_back(request);
    } else {
      Answer(request);
    }
  }
}

void FakeReplica::SendTo(const std::shared_ptr<Session>& session, v1::Response response) {
  if (is_silent) {
    return;
  }
  if (session->is_front) {
    *response.mutable_status() = status;
  }
  session->unsent += proto::ToFrame(response);
  Write(session);
}

void FakeReplica::Write(const std::shared_ptr<Session>& session) {
  if (!session->writing.empty() || session->unsent.empty()) {
    return;
  }
  session->writing.swap(session->unsent);
  asio::async_write(session->socket, asio::buffer(session->writing),
                    [session](const error_code& error, std::size_t) {
                      session->writing.clear();
                      if (!error && !session->is_closed) {
                        Write(session);
                      }
                    });
}

void FakeReplica::Send(v1::Response response) {
  for (const auto& session : sessions_) {
    if (session->ids.contains(response.request_id())) {
      SendTo(session, std::move(response));
      return;
    }
  }
}

void FakeReplica::Answer(const v1::Request& request) {
  v1::Response response;
  response.set_request_id(request.request_id());
  if (reply) {
    *response.mutable_http() = reply(request);
  } else {
    response.mutable_http()->set_status(200);
    response.mutable_http()->set_body(name + ":" + request.http().body());
    response.mutable_http()->set_last(true);
  }
  Send(std::move(response));
}

void FakeReplica::AnswerAll() {
  for (const v1::Request& request : std::exchange(held, {})) {
    Answer(request);
  }
}

void FakeReplica::SendToAll(const v1::Response& response) {
  for (const auto& session : sessions_) {
    if (session->is_front) {
      SendTo(session, response);
    }
  }
}

v1::HelloReply FactsOf(const std::string& model) {
  v1::HelloReply facts;
  facts.set_version("1.0");
  facts.set_model(model);
  facts.set_kind("a language model");
  facts.set_fingerprint("0123");
  facts.set_dtype("bf16");
  facts.set_kernel_set("avx512");
  facts.set_max_request_bytes(1 << 24);
  facts.set_max_requests_in_flight(65'536);
  return facts;
}

bool RunUntil(asio::io_context& io, const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    io.restart();
    io.run_one_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::string HttpRequestOf(const std::string& body) {
  v1::Request request;
  request.mutable_http()->set_method("POST");
  request.mutable_http()->set_path("/v1/score");
  request.mutable_http()->set_body(body);
  return request.SerializeAsString();
}

}  // namespace scorecast::coordinator
