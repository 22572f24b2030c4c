// Many clients at once, idle clients, and a client that never reads: every client gets the replies
// to its own requests, and none delays the others.

#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/wire/frame.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_clients_test {

using launcher::Client;

/// Scores of numbered requests by `scorecast batch`.
std::vector<Scores> BatchScores(int ranks, std::uint64_t count) {
  const BatchRun run = RunBatch(NumberedCommand(ranks), NumberedBodies(count), Transport::kBatch);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::vector<Scores> scores;
  for (std::size_t line = 0; line < run.lines.size(); ++line) {
    scores.push_back(run.Body(line).at("scores").get<Scores>());
  }
  return scores;
}

// Each client sends its requests in an order of its own; replies come in any order.
TEST(ServeClients, SixtyFourWithRequestsInFlightEachGetTheirOwn) {
  constexpr std::size_t kClients = 64;
  constexpr std::uint64_t kRequests = 40;
  const std::vector<Scores> expected = BatchScores(2, kRequests);
  const Service service(NumberedCommand(2, {"--max-queue", "100000"}));
  std::vector<std::unique_ptr<Client>> clients;
  std::mt19937 random(1);
  for (std::size_t c = 0; c < kClients; ++c) {
    clients.push_back(service.Connect());
  }
  // The request_id names the client, so that a reply to the wrong client is seen.
  std::vector<std::pair<std::size_t, std::uint64_t>> order;
  for (std::size_t c = 0; c < kClients; ++c) {
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      order.emplace_back(c, i);
    }
  }
  std::shuffle(order.begin(), order.end(), random);
  for (const auto& [c, i] : order) {
    v1::Request request = NumberedRequest(i);
    request.set_request_id(c * 1000 + i);
    clients[c]->Send(request);
  }
  for (std::size_t c = 0; c < kClients; ++c) {
    std::map<std::uint64_t, int> replies;
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      const v1::Response response = clients[c]->Receive();
      ASSERT_TRUE(response.has_score()) << response.error().message();
      ASSERT_EQ(response.request_id() / 1000, c);
      const std::uint64_t number = response.request_id() % 1000;
      ++replies[number];
      EXPECT_EQ(ScoresOf(response), expected.at(number));
    }
    EXPECT_EQ(replies.size(), kRequests) << "client " << c << ": one reply for each request";
  }
}

/// Connected sockets that send nothing. They are closed by a reset, which leaves no port in
/// TIME_WAIT.
class IdleSockets {
 public:
  IdleSockets() = default;
  ~IdleSockets() { CloseAll(); }
  IdleSockets(const IdleSockets&) = delete;
  IdleSockets& operator=(const IdleSockets&) = delete;

  /// Connects from 127.0.0.`source` to `port`. False, with errno set, if that fails.
  bool Add(std::uint16_t port, std::uint32_t source) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      return false;
    }
    fds_.push_back(fd);
    const linger reset = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    const int late = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof(late));
    return Call(bind, fd, INADDR_LOOPBACK - 1 + source, 0) &&
           Call(connect, fd, INADDR_LOOPBACK, port);
  }

  void CloseAll() {
    for (const int fd : fds_) {
      close(fd);
    }
    fds_.clear();
  }

 private:
  template <typename Function>
  static bool Call(Function function, int fd, std::uint32_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(host);
    address.sin_port = htons(port);
    return function(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  std::vector<int> fds_;
};

TEST(ServeClients, TenThousandIdleClientsChangeNothing) {
  constexpr std::size_t kIdle = 10000;
  constexpr std::size_t kAskedAtOnce = 20;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < kIdle + 500) {
    GTEST_SKIP() << "at most " << limit.rlim_max << " file descriptors are allowed here";
  }
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);

  Service service(NumberedCommand(2));
  const auto client = service.Connect();
  std::vector<Scores> expected;
  for (std::uint64_t i = 0; i < kAskedAtOnce; ++i) {
    expected.push_back(ScoresOf(client->Call(NumberedRequest(i))));
  }
  const pid_t root = service.Ranks().at(0);
  const Resources before = ResourcesOf(root);
  const auto port = static_cast<std::uint16_t>(
      std::stoi(service.address().substr(service.address().find(':') + 1)));
  IdleSockets idle;
  for (std::size_t i = 0; i < kIdle; ++i) {
    ASSERT_TRUE(idle.Add(port, static_cast<std::uint32_t>(2 + i % 10)))
        << i << ": " << std::strerror(errno);
  }
  ASSERT_TRUE(Eventually([&] {
    return ResourcesOf(root).descriptors == before.descriptors + kIdle;
  })) << "not all connections were accepted";

  const auto newcomer = service.Connect();
  for (const auto& asking : {client.get(), newcomer.get()}) {
    for (std::uint64_t i = 0; i < kAskedAtOnce; ++i) {
      EXPECT_EQ(ScoresOf(asking->Call(NumberedRequest(i))), expected[i]);
    }
  }

  idle.CloseAll();
  EXPECT_TRUE(Eventually([&] {
    return ResourcesOf(root).descriptors == before.descriptors + 1;  // One for `newcomer`.
  })) << ResourcesOf(root).descriptors;
}

/// Writes frames to a connection for as long as it takes bytes without blocking, and never reads.
class Flood {
 public:
  explicit Flood(std::unique_ptr<Client> client) : client_(std::move(client)) {
    client_->socket().non_blocking(true);
  }

  /// Writes as much of the frame as possible; a frame begun before comes first. False if nothing
  /// more can be written now.
  bool Push(const std::string& frame) {
    if (left_.empty()) {
      left_ = frame;
    }
    boost::system::error_code error;
    left_.erase(0, client_->socket().write_some(boost::asio::buffer(left_), error));
    frames_ += left_.empty() ? 1 : 0;
    return !error;
  }

  std::size_t frames() const { return frames_; }

 private:
  std::unique_ptr<Client> client_;
  std::string left_;
  std::size_t frames_ = 0;
};

// The memory that such a client can make the server hold is bounded, however much it sends.
TEST(ServeClients, OneThatNeverReadsDoesNotHarmTheOthers) {
  constexpr std::size_t kReplyBytes = 120 * 50 * 11;  // A lower bound, checked below.
  // 256 requests in flight, 4 MiB of replies, and the socket buffers of both sides.
  constexpr std::size_t kMayHold = 100U << 20U;
  Service service(NumberedCommand(2));
  const auto client = service.Connect();
  const Scores expected = ScoresOf(client->Call(NumberedRequest(3)));
  const pid_t root = service.Ranks().at(0);

  // A small request with a large reply.
  v1::Request large = NumberedRequest(0);
  while (large.score().items_size() < 120) {
    large.mutable_score()->add_items()->mutable_ids()->add_ids(3);
  }
  large.mutable_score()->set_top_logprobs(50);
  ASSERT_GT(client->Call(large).ByteSizeLong(), kReplyBytes);
  const std::size_t before = ResourcesOf(root).resident_bytes;

  Flood flood(service.Connect());
  const std::string frame = proto::ToFrame(large);
  int stuck = 0;
  while (stuck < 100) {
    while (flood.Push(frame)) {
      stuck = 0;
      ASSERT_LT(flood.frames(), 2'000'000U / 20) << "the server takes requests without end";
    }
    ++stuck;
    EXPECT_EQ(ScoresOf(client->Call(NumberedRequest(3))), expected);
  }
  const std::size_t after = ResourcesOf(root).resident_bytes;
  std::cout << flood.frames() << " requests were taken; " << (before >> 20U) << " MiB before, "
            << (after >> 20U) << " MiB after\n";
  EXPECT_LT(after, before + kMayHold);
}

}  // namespace serve_clients_test
}  // namespace scorecast::testing
