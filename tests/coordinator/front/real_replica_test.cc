// A front before real servers of the request socket.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/front/forwarder.h"
#include "coordinator/front/replicas.h"
#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/connection/tls_files.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "proto/wire/frame.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/captured_log.h"
#include "tests/coordinator/front/fake_replica.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"
#include "tests/coordinator/transports/tls/certificates.h"

namespace scorecast::coordinator {
namespace real_replica_test {

using scorecast::testing::Authority;
using ::testing::HasSubstr;

constexpr char kFrontKey[] = "sk-front-0123456789";

class RealReplicaTest : public ::testing::Test {
 protected:
  ~RealReplicaTest() override {
    if (forwarder_ != nullptr) {
      forwarder_->Close();
    }
    replicas_.reset();
    io_.restart();
    io_.run_for(std::chrono::milliseconds(1));
  }

  SocketOptions ServerOptions() const {
    SocketOptions options;
    options.front_keys = front_keys_;
    return options;
  }
  void Start(const std::vector<ListedReplica>& list,
             std::optional<proto::ClientTls> tls = std::nullopt) {
    ReplicaOptions options;
    options.front_key = kFrontKey;
    options.tls = std::move(tls);
    replicas_ = std::make_unique<Replicas>(io_.get_executor(), options);
    forwarder_ = std::make_shared<Forwarder>(io_.get_executor(), *replicas_, ForwarderOptions());
    forwarder_->Start();
    replicas_->SetList(list);
  }
  std::uint64_t Forward(std::uint64_t number) { return Forward(number, NumberedRequest(number)); }
  std::uint64_t Forward(std::uint64_t number, v1::Request message) {
    FrontRequest request;
    message.clear_request_id();
    request.bytes = message.SerializeAsString();
    request.client = {.address = "192.0.2." + std::to_string(number), .network = "192.0.2.0/24"};
    return forwarder_->Forward(std::move(request), [this, number](FrontReply reply) {
      EXPECT_TRUE(reply.is_last);
      replies_[number] = std::move(reply.response);
    });
  }
  static std::string At(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

  const KeysFile file_{std::string("front ") + kFrontKey + "\n"};
  const std::shared_ptr<ApiKeys> front_keys_ = file_.Read();
  boost::asio::io_context io_;
  std::unique_ptr<Replicas> replicas_;
  std::shared_ptr<Forwarder> forwarder_;
  std::map<std::uint64_t, v1::Response> replies_;
};

TEST_F(RealReplicaTest, RepliesAreThoseOfTheServer) {
  FakeSocketServer first(ServerOptions());
  FakeSocketServer second(ServerOptions());
  Start({{"1", At(first.port())}, {"2", At(second.port())}});
  for (std::uint64_t number = 1; number <= 50; ++number) {
    Forward(number);
  }
  ASSERT_TRUE(RunUntil(io_, [this] { return replies_.size() == 50; }));
  for (const auto& [number, response] : replies_) {
    ASSERT_TRUE(response.has_score()) << response.error().message();
    EXPECT_EQ(ScoresOf(response.score()),
              ScoresOf(first.ResponseTo(NumberedRequest(number)).score()));
  }
}

TEST_F(RealReplicaTest, ACancelEndsTheRequestThere) {
  FakeSocketServer server(ServerOptions());
  server.cluster().Hold();
  Start({{"1", At(server.port())}});
  const std::uint64_t id = Forward(1);
  Forward(2);
  ASSERT_TRUE(RunUntil(io_, [&] { return forwarder_->waiting() == 0; }));
  forwarder_->Cancel(id);
  Forward(3);
  server.cluster().Release();
  ASSERT_TRUE(RunUntil(io_, [this] { return replies_.size() == 2; }));
  EXPECT_FALSE(replies_.contains(1));
  EXPECT_TRUE(replies_[2].has_score());
  EXPECT_TRUE(replies_[3].has_score());
}

TEST_F(RealReplicaTest, AServerWithoutRoomForARequestIsNotLost) {
  SocketOptions options = ServerOptions();
  options.max_request_bytes = 100'000;
  options.max_held_bytes = 100'000;
  FakeSocketServer server(options);
  const auto with_text = [](std::size_t bytes) {
    v1::Request request = NumberedRequest(0);
    request.mutable_score()->mutable_query()->set_text(std::string(bytes, 'x'));
    return request;
  };
  server.tokenizer().Hold();
  Start({{"1", At(server.port())}});
  Forward(1, with_text(90'000));
  ASSERT_TRUE(RunUntil(io_, [&] { return server.server().status().held_request_bytes > 400'000; }));
  Forward(2, with_text(80'000));
  ASSERT_TRUE(RunUntil(io_, [this] { return replies_.size() == 1; }));
  EXPECT_EQ(replies_[2].error().reason(), "overloaded");
  server.tokenizer().Release();
  Forward(3);
  ASSERT_TRUE(RunUntil(io_, [this] { return replies_.size() == 3; }));
  EXPECT_EQ(replies_[1].error().reason(), "sequence_too_long");
  EXPECT_TRUE(replies_[3].has_score());
  EXPECT_EQ(replicas_->LossesOf("1"), 0U);
}

TEST_F(RealReplicaTest, AServerWithAnotherFrontKeyIsRefused) {
  const CapturedLog log;
  FakeSocketServer server;
  Start({{"1", At(server.port())}});
  EXPECT_TRUE(RunUntil(io_, [&] { return !log.text().empty(); }));
  EXPECT_THAT(log.text(), HasSubstr("it does not trust this front: 401 unauthorized"));
}

class TlsReplicaTest : public RealReplicaTest {
 protected:
  std::uint16_t Listen(FakeSocketServer& server) {
    ServerState state;
    state.ready = true;
    return server.server().Listen(
        OpenListeningSocket("127.0.0.1", 0),
        MakeFrameProtocol(server.service().endpoints(), {}, [state] { return state; }),
        {.tls = std::make_shared<TlsFiles>(ca_.Issue("server")),
         .protocols = {std::string(proto::kTlsProtocol)}});
  }

  const reference::TempDirectory directory_;
  Authority ca_{directory_.path(), "own"};
  Authority other_{directory_.path(), "other"};
};

TEST_F(TlsReplicaTest, RepliesComeOverTls) {
  FakeSocketServer server(ServerOptions());
  const std::uint16_t port = Listen(server);
  Start({{"1", At(port)}},
        proto::ClientTls{proto::TlsContext::OfClient({.ca = ca_.certificate()})});
  Forward(1);
  ASSERT_TRUE(RunUntil(io_, [this] { return replies_.size() == 1; }));
  EXPECT_EQ(ScoresOf(replies_[1].score()), ScoresOf(server.ResponseTo(NumberedRequest(1)).score()));
}

TEST_F(TlsReplicaTest, AReplicaOfAnotherCaIsRefused) {
  const CapturedLog log;
  FakeSocketServer server(ServerOptions());
  const std::uint16_t port = Listen(server);
  Start({{"1", At(port)}},
        proto::ClientTls{proto::TlsContext::OfClient({.ca = other_.certificate()})});
  EXPECT_TRUE(RunUntil(
      io_, [&] { return log.text().find("cannot connect: no TLS") != std::string::npos; }));
}

}  // namespace real_replica_test
}  // namespace scorecast::coordinator
