// A front with clients over HTTP and over the request socket, before real servers.

#include "coordinator/front/clients/front.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/front/clients/front_resources.h"
#include "coordinator/front/clients/passed_frame_format.h"
#include "coordinator/front/clients/passed_http_format.h"
#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/http/http_protocol.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "launcher/client/client.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/transports/http/fake_http_server.h"
#include "tests/coordinator/transports/http/http_client.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace front_clients_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFrontKey[] = "sk-front-0123456789";

/// A service that the front may use.
class Service {
 public:
  explicit Service(const SocketOptions& options)
      : fake_(FakeServer::MultiItem(), {}, Endpoints()),
        server_(std::make_unique<RequestServer>(fake_.service, options, /*io_threads=*/2)),
        port_(
            server_->Listen(OpenListeningSocket("127.0.0.1", 0),
                            MakeFrameProtocol(Endpoints(), {.version = "1", .model = "m"}, [this] {
                              ServerState state;
                              state.ready = true;
                              state.draining = fake_.service.is_draining();
                              return state;
                            }))) {}
  ~Service() {
    fake_.cluster.Release();
    fake_.scheduler.WaitIdle();
    server_.reset();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  FakeCluster& cluster() { return fake_.cluster; }
  RequestServer& server() { return *server_; }
  /// What a service does at the end of a drain.
  void RefuseAll() { fake_.service.RefuseAll(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Ends like a process that is killed.
  void Die() { server_->CloseConnections(std::chrono::milliseconds(0)); }

 private:
  FakeServer fake_;
  std::unique_ptr<RequestServer> server_;
  std::uint16_t port_;
};

/// The tokens of all deltas, which depend on no time, as the number of deltas does.
std::vector<int> TokensIn(const std::string& events) {
  std::vector<int> tokens;
  std::istringstream lines(events);
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line.substr(0, 6) == "data: " ? line.substr(6) : "{}",
                                             nullptr, /*allow_exceptions=*/false);
    if (event.is_object() && event.value("object", "") == "chunked.delta") {
      for (const auto& token : event["token_ids"]) {
        tokens.push_back(token.get<int>());
      }
    }
  }
  return tokens;
}

class FrontTest : public ::testing::Test {
 protected:
  SocketOptions ServiceOptions() const {
    SocketOptions options;
    options.front_keys = front_keys_.Read();
    return options;
  }

  void Start() {
    list_.Write("a " + a_.address() + "\nb " + b_.address() + "\n");
    options_.replicas.front_key = kFrontKey;
    front_ =
        std::make_unique<Front>(options_, ReplicaList(list_.path(), [](std::string_view) {
                                  return proto::Expected<std::string, std::string>(std::string());
                                }));
    HttpOptions http;
    http.web.resources = FrontResources({.version = "1",
                                         .status = [this] { return front_->Status(); },
                                         .is_draining = [this] { return front_->is_draining(); }});
    http.web.pass_on = [](WebCall call) {
      return std::make_unique<PassedHttpFormat>(std::move(call));
    };
    http_port_ = front_->server().Listen(OpenListeningSocket("127.0.0.1", 0),
                                         MakeHttpProtocol(Endpoints(), std::move(http)),
                                         {.accepts_while_draining = true});
    port_ = front_->server().Listen(
        OpenListeningSocket("127.0.0.1", 0),
        MakeFrameProtocol(
            Endpoints(), {.version = "1"}, {}, {},
            {.pass_on =
                 [](std::string message, std::uint64_t id, std::vector<Held> held) {
                   return std::make_unique<PassedFrameFormat>(std::move(message), id,
                                                              std::move(held));
                 },
             .drain = [this](const v1::Drain& drain) { return front_->Drain(drain); }}));
  }
  bool AwaitReady(std::size_t replicas = 2) {
    return Eventually([&] {
      std::size_t ready = 0;
      for (const ReplicaStatus& replica : front_->Status().replicas) {
        ready += replica.is_ready ? 1 : 0;
      }
      return ready == replicas;
    });
  }
  Service& Busy();
  HttpReply Call(const std::string& bytes) const { return HttpClient(http_port_).Call(bytes); }
  std::unique_ptr<launcher::Client> Connect() const {
    return std::make_unique<launcher::Client>("127.0.0.1:" + std::to_string(port_));
  }

  const KeysFile front_keys_{std::string("front ") + kFrontKey + "\n"};
  const KeysFile list_{""};
  Service a_{ServiceOptions()};
  Service b_{ServiceOptions()};
  FrontOptions options_;
  std::unique_ptr<Front> front_;
  std::uint16_t http_port_ = 0;
  std::uint16_t port_ = 0;
};

TEST_F(FrontTest, RepliesOverHttpAreThoseOfAServer) {
  Start();
  ASSERT_TRUE(AwaitReady());
  FakeHttpServer direct;
  HttpClient client(http_port_);
  for (std::uint64_t number = 1; number <= 20; ++number) {
    const HttpReply own = client.Call(ScorePost(number, "X-Request-Id: abc\r\n"));
    const HttpReply wanted = direct.Call(ScorePost(number));
    EXPECT_EQ(own.status, 200) << own.body;
    EXPECT_EQ(own.Field("x-request-id"), "abc");
    EXPECT_EQ(own.Field("content-type"), wanted.Field("content-type"));
    EXPECT_EQ(Stable(own.Json()), Stable(wanted.Json()));
  }
}

TEST_F(FrontTest, ErrorsAreThoseOfAServer) {
  Start();
  ASSERT_TRUE(AwaitReady());
  FakeHttpServer direct;
  for (const std::string& request :
       {Post("/v1/score", "{"), Post("/v1/score", R"({"labels":[" a"]})"), Post("/nothing", "{}"),
        Get("/v1/score"), Post("/v1/rerank", "[]"),
        Post("/v1/score", "{}", "Content-Encoding: x\r\n")}) {
    const HttpReply own = Call(request);
    const HttpReply wanted = direct.Call(request);
    EXPECT_EQ(own.status, wanted.status) << request;
    EXPECT_EQ(own.body, wanted.body) << request;
    EXPECT_EQ(own.Field("allow"), wanted.Field("allow"));
  }
}

TEST_F(FrontTest, StreamsAreThoseOfAServer) {
  Start();
  ASSERT_TRUE(AwaitReady());
  FakeHttpServer direct;
  const std::string request = Post("/v1/chunked", StreamBody(5).dump());
  const HttpReply own = Call(request);
  const HttpReply wanted = direct.Call(request);
  EXPECT_EQ(own.status, 200);
  EXPECT_EQ(own.Field("content-type"), wanted.Field("content-type"));
  EXPECT_EQ(own.Field("cache-control"), "no-cache");
  EXPECT_THAT(own.body, HasSubstr("data: [DONE]\n\n"));
  EXPECT_EQ(TokensIn(own.body).size(), 5U);
  EXPECT_EQ(TokensIn(own.body), TokensIn(wanted.body));
}

TEST_F(FrontTest, RepliesOverTheSocketAreThoseOfAServer) {
  Start();
  ASSERT_TRUE(AwaitReady());
  FakeSocketServer direct;
  const auto client = Connect();
  for (std::uint64_t number = 1; number <= 20; ++number) {
    client->Send(NumberedRequest(number));
  }
  std::map<std::uint64_t, Scores> scores;
  for (int i = 0; i < 20; ++i) {
    const v1::Response response = client->Receive();
    ASSERT_TRUE(response.has_score()) << response.error().message();
    scores[response.request_id()] = ScoresOf(response.score());
  }
  ASSERT_EQ(scores.size(), 20U);
  for (const auto& [number, own] : scores) {
    EXPECT_EQ(own, ScoresOf(direct.ResponseTo(NumberedRequest(number)).score()));
  }
}

TEST_F(FrontTest, AMessageWithAFaultCostsNoReplica) {
  Start();
  ASSERT_TRUE(AwaitReady());
  const auto client = Connect();
  // A text that is not UTF-8, in a request whose outermost fields are right.
  v1::Request request = NumberedRequest(1);
  std::string bytes = proto::ToFrame(request);
  bytes[bytes.find("query 1")] = '\xff';
  WriteBytes(*client, bytes);
  const v1::Response refused = client->Receive();
  EXPECT_EQ(refused.request_id(), 1U);
  EXPECT_EQ(refused.error().reason(), "not_a_message");
  EXPECT_TRUE(client->Call(NumberedRequest(2)).has_score());
  // An HTTP request of one byte: the tag of a group that does not end. Then a cancel behind so many
  // bytes of ids that it is no short message.
  WriteBytes(*client, std::string("\0\0\0\3\x4a\x01\x0b", 7));
  EXPECT_EQ(client->Receive().error().code(), 400);
  v1::Request cancel;
  cancel.mutable_cancel()->set_request_id(1);
  const std::string padding = "\x0a" + std::string("\x84\x20", 2) + std::string(4'100, 'x');
  const std::string message = padding + cancel.SerializeAsString();
  WriteBytes(*client, std::string("\0\0", 2) + static_cast<char>(message.size() >> 8) +
                          static_cast<char>(message.size() & 0xff) + message);
  EXPECT_EQ(client->Receive().error().code(), 400);
  EXPECT_TRUE(client->Call(NumberedRequest(3)).has_score());
  for (const ReplicaStatus& replica : front_->Status().replicas) {
    EXPECT_EQ(replica.losses, 0U);
  }
}

TEST_F(FrontTest, RequestsOfAReplicaThatDiesGetTheirRepliesFromAnother) {
  Start();
  ASSERT_TRUE(AwaitReady());
  a_.cluster().Hold();
  b_.cluster().Hold();
  constexpr int kRequests = 50;
  const auto client = Connect();
  for (std::uint64_t number = 1; number <= kRequests; ++number) {
    client->Send(NumberedRequest(number));
  }
  ASSERT_TRUE(Eventually([&] {
    const FrontStatus status = front_->Status();
    return status.in_flight == kRequests && status.replicas[0].in_flight > 0 &&
           status.replicas[1].in_flight > 0;
  }));
  a_.Die();
  ASSERT_TRUE(AwaitReady(1));
  b_.cluster().Release();
  FakeSocketServer direct;
  std::map<std::uint64_t, Scores> scores;
  for (int i = 0; i < kRequests; ++i) {
    const v1::Response response = client->Receive();
    ASSERT_TRUE(response.has_score()) << response.error().message();
    scores[response.request_id()] = ScoresOf(response.score());
  }
  ASSERT_EQ(scores.size(), std::size_t{kRequests});
  for (const auto& [number, own] : scores) {
    EXPECT_EQ(own, ScoresOf(direct.ResponseTo(NumberedRequest(number)).score()));
  }
}

/// The service that has requests of the front in flight, of which only one has.
Service& FrontTest::Busy() { return front_->Status().replicas[0].in_flight > 0 ? a_ : b_; }

TEST_F(FrontTest, AStreamOfEventsGoesOnAtAnotherService) {
  Start();
  ASSERT_TRUE(AwaitReady());
  FakeHttpServer direct;
  const std::string request = Post("/v1/chunked", StreamBody(60).dump());
  const std::string wanted = direct.Call(request).body;
  ASSERT_EQ(TokensIn(wanted).size(), 60U);
  a_.cluster().HoldAfter(20);
  b_.cluster().HoldAfter(20);
  HttpClient client(http_port_);
  client.Send(request);
  std::string reply = client.ReceiveUntil("chunked.delta");
  Service& dies = Busy();
  dies.Die();
  ASSERT_TRUE(AwaitReady(1));
  (&dies == &a_ ? b_ : a_).cluster().Release();
  reply += client.ReceiveUntil("0\r\n\r\n");
  EXPECT_EQ(TokensIn(reply), TokensIn(wanted));
  EXPECT_THAT(reply, Not(HasSubstr("error")));
  const auto response = [](const std::string& events) {
    const std::size_t begin = events.find("data: {\"object\":\"chunked\",");
    EXPECT_NE(begin, std::string::npos) << events;
    const std::size_t end = events.find("\n\n", begin);
    EXPECT_EQ(events.compare(end, 16, "\n\ndata: [DONE]\n\n"), 0);
    return Stable(nlohmann::json::parse(events.substr(begin + 6, end - begin - 6)));
  };
  EXPECT_EQ(response(reply), response(wanted));
}

TEST_F(FrontTest, AStreamOfMessagesGoesOnAtAnotherService) {
  Start();
  ASSERT_TRUE(AwaitReady());
  v1::Request request;
  request.set_request_id(3);
  v1::CompletionsRequest& completions = *request.mutable_completions();
  completions.add_prompt()->set_text("a prompt");
  completions.set_max_tokens(60);
  completions.set_n(2);
  completions.set_temperature(1);
  completions.set_ignore_eos(true);
  completions.set_return_token_ids(true);
  completions.set_stream(true);
  a_.cluster().HoldAfter(20);
  b_.cluster().HoldAfter(20);
  const auto client = Connect();
  client->Send(request);
  std::vector<v1::Response> parts = {client->Receive()};
  Service& dies = Busy();
  dies.Die();
  ASSERT_TRUE(AwaitReady(1));
  (&dies == &a_ ? b_ : a_).cluster().Release();
  std::map<std::int64_t, v1::Completion> choices;
  while (parts.back().has_completions_delta()) {
    const v1::CompletionsDelta& part = parts.back().completions_delta();
    EXPECT_EQ(part.id(), parts.front().completions_delta().id());
    EXPECT_FALSE(parts.back().has_position());
    const v1::Completion& delta = part.choices(0);
    v1::Completion& choice = choices[delta.index()];
    choice.set_index(delta.index());
    choice.mutable_text()->append(delta.text());
    choice.mutable_token_ids()->MergeFrom(delta.token_ids());
    choice.set_finish_reason(delta.finish_reason());
    parts.push_back(client->Receive());
  }
  ASSERT_TRUE(parts.back().has_completions()) << parts.back().error().message();
  completions.set_stream(false);
  completions.set_seed(parts.back().completions().seed());
  const v1::Response wanted = client->Call(request);
  ASSERT_EQ(wanted.completions().choices_size(), 2) << wanted.error().message();
  for (const v1::Completion& choice : wanted.completions().choices()) {
    EXPECT_EQ(choice.token_ids_size(), 60);
    EXPECT_EQ(choices[choice.index()].SerializeAsString(), choice.SerializeAsString());
  }
}

TEST_F(FrontTest, AStreamGoesOnElsewhereWhenADrainEnds) {
  Start();
  ASSERT_TRUE(AwaitReady());
  FakeHttpServer direct;
  const std::string request = Post("/v1/chunked", StreamBody(60).dump());
  const std::string wanted = direct.Call(request).body;
  a_.cluster().HoldAfter(20);
  b_.cluster().HoldAfter(20);
  HttpClient client(http_port_);
  client.Send(request);
  std::string reply = client.ReceiveUntil("chunked.delta");
  Service& drains = Busy();
  (&drains == &a_ ? b_ : a_).cluster().Release();
  drains.RefuseAll();
  reply += client.ReceiveUntil("0\r\n\r\n");
  EXPECT_EQ(TokensIn(reply), TokensIn(wanted));
  EXPECT_THAT(reply, Not(HasSubstr("draining")));
}

TEST_F(FrontTest, AClientThatLeavesEndsItsRequests) {
  Start();
  ASSERT_TRUE(AwaitReady());
  a_.cluster().Hold();
  b_.cluster().Hold();
  {
    const auto client = Connect();
    client->Send(NumberedRequest(1));
    HttpClient http(http_port_);
    http.Send(ScorePost(2));
    ASSERT_TRUE(Eventually([&] { return front_->Status().in_flight == 2; }));
  }
  EXPECT_TRUE(Eventually([&] {
    const FrontStatus status = front_->Status();
    return status.in_flight == 0 && status.replicas[0].in_flight == 0 &&
           status.replicas[1].in_flight == 0;
  }));
}

TEST_F(FrontTest, AReplicaIsDrainedWithTheFrontsKey) {
  Start();
  ASSERT_TRUE(AwaitReady());
  const auto client = Connect();
  v1::Request request;
  request.set_request_id(7);
  v1::Drain& drain = *request.mutable_drain();
  drain.set_replica("a");
  for (const std::string key : {"", "sk-wrong", "sk-front-012345678", "sk-front-01234567899"}) {
    drain.set_front_key(key);
    const v1::Response response = client->Call(request);
    EXPECT_EQ(response.request_id(), 7U);
    EXPECT_EQ(response.error().code(), 401) << key;
  }
  EXPECT_TRUE(AwaitReady(2));
  drain.set_front_key(kFrontKey);
  EXPECT_TRUE(client->Call(request).has_drained());
  EXPECT_TRUE(AwaitReady(1));
  const nlohmann::json replica = Call(Get("/ready")).Json()["replicas"][0];
  EXPECT_EQ(replica["name"], "a");
  EXPECT_EQ(replica["ready"], false);
  EXPECT_EQ(replica["drained"], true);
  EXPECT_THAT(Call(Get("/metrics")).body,
              HasSubstr("scorecast_front_replica_drained{replica=\"a\"} 1"));
  for (std::uint64_t number = 1; number <= 10; ++number) {
    EXPECT_EQ(Call(ScorePost(number)).status, 200);
  }
  EXPECT_TRUE(a_.cluster().plans().empty()) << "it got none of them";
  drain.set_replica("b");
  EXPECT_EQ(client->Call(request).error().reason(), "last_replica");
  drain.set_replica("a");
  drain.set_undo(true);
  EXPECT_TRUE(client->Call(request).has_drained());
  EXPECT_TRUE(AwaitReady(2));
}

TEST_F(FrontTest, WithoutAReplicaRequestsAreRefused) {
  options_.forwarder.queue.patience = std::chrono::milliseconds(20);
  Start();
  ASSERT_TRUE(AwaitReady());
  a_.Die();
  b_.Die();
  ASSERT_TRUE(AwaitReady(0));
  const HttpReply refused = Call(ScorePost(1));
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_NE(refused.Field("retry-after"), "");
  const v1::Response response = Connect()->Call(NumberedRequest(1));
  EXPECT_EQ(response.error().code(), 503);
  EXPECT_TRUE(response.error().has_retry_after_seconds());
  EXPECT_EQ(Call(Get("/ready")).status, 503);
  EXPECT_EQ(Call(Get("/health")).status, 200);
}

TEST_F(FrontTest, ResourcesTellOfTheReplicas) {
  Start();
  ASSERT_TRUE(AwaitReady());
  EXPECT_EQ(Call(Get("/ready")).status, 200);
  const HttpReply models = Call(Get("/v1/models"));
  ASSERT_EQ(models.Json()["data"].size(), 1U) << models.body;
  EXPECT_EQ(models.Json()["data"][0]["id"], "m");
  const std::string metrics = Call(Get("/metrics")).body;
  for (const std::string line :
       {"scorecast_front_replica_connected{replica=\"a\"} 1",
        "scorecast_front_replica_ready{replica=\"b\"} 1",
        "scorecast_front_replica_losses_total{replica=\"a\"} 0",
        "scorecast_front_replica_set_aside{replica=\"a\"} 0",
        "scorecast_front_replica_bad_replies_total{replica=\"b\"} 0",
        "scorecast_front_waiting_requests{model=\"m\"} 0",
        "scorecast_front_waiting_seconds{model=\"m\"} 0", "scorecast_front_requests_in_flight 0"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
}

TEST_F(FrontTest, OnlyHoldersOfKeysAreLetIn) {
  const KeysFile keys(KeysFile::Alice("models: m") +
                      std::string("carol sk-carol-0123456789 models: x\n"));
  options_.socket.keys = keys.Read();
  Start();
  ASSERT_TRUE(AwaitReady());
  const auto bearer = [](const std::string& key) {
    return "Authorization: Bearer " + key + "\r\n";
  };
  EXPECT_EQ(Call(ScorePost(1)).status, 401);
  EXPECT_EQ(Call(Get("/v1/models")).status, 401);
  EXPECT_EQ(Call(Get("/ready")).status, 200);
  EXPECT_EQ(Call(ScorePost(1, bearer(kAlice))).status, 200);
  EXPECT_EQ(Call(ScorePost(1, bearer("sk-carol-0123456789"))).status, 403);
  launcher::ClientOptions client;
  client.api_key = kAlice;
  EXPECT_TRUE(launcher::Client("127.0.0.1:" + std::to_string(port_), client)
                  .Call(NumberedRequest(1))
                  .has_score());
}

TEST_F(FrontTest, ADrainRefusesNewRequestsAndAnswersTheOthers) {
  Start();
  ASSERT_TRUE(AwaitReady());
  a_.cluster().Hold();
  b_.cluster().Hold();
  HttpClient client(http_port_);
  client.Send(ScorePost(1));
  ASSERT_TRUE(Eventually([&] { return front_->Status().in_flight == 1; }));
  front_->server().StartDraining();
  EXPECT_EQ(Call(ScorePost(2)).Reason(), "draining");
  EXPECT_EQ(Call(Get("/ready")).status, 503);
  a_.cluster().Release();
  b_.cluster().Release();
  const HttpReply reply = client.Receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Field("connection"), "close");
}

TEST_F(FrontTest, WhatIsLeftOfADrainIsRefused) {
  Start();
  ASSERT_TRUE(AwaitReady());
  a_.cluster().Hold();
  b_.cluster().Hold();
  HttpClient client(http_port_);
  client.Send(ScorePost(1));
  ASSERT_TRUE(Eventually([&] { return front_->Status().in_flight == 1; }));
  front_->RefuseAll();
  EXPECT_EQ(client.Receive().Reason(), "draining");
}

}  // namespace front_clients_test
}  // namespace scorecast::coordinator
