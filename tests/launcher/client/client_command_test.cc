#include "launcher/client/client_command.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/frame.h"

namespace scorecast::launcher {
namespace client_command_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using ::testing::HasSubstr;

/// Serves any number of connections at once. `serve` makes the response to a request, or returns
/// false to close the connection instead. It is called on many threads.
class ParallelServer {
 public:
  using Serve = std::function<bool(const v1::Request& request, v1::Response& response)>;

  explicit ParallelServer(Serve serve)
      : serve_(std::move(serve)),
        acceptor_(io_, {asio::ip::make_address("127.0.0.1"), 0}),
        thread_([this] { Accept(); }) {}
  ~ParallelServer() {
    ends_ = true;
    tcp::socket(io_).connect(acceptor_.local_endpoint());
    thread_.join();
  }

  ServerFlags Flags() const {
    ServerFlags flags;
    flags.connect = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    return flags;
  }
  /// Connections so far.
  std::size_t connections() const { return connections_; }

 private:
  void Accept() {
    std::vector<std::jthread> threads;
    while (true) {
      tcp::socket socket = acceptor_.accept();
      if (ends_) {
        return;
      }
      ++connections_;
      threads.emplace_back([this, socket = std::move(socket)]() mutable { ServeAll(socket); });
    }
  }

  void ServeAll(tcp::socket& socket) {
    try {
      while (true) {
        proto::FrameHeader header{};
        asio::read(socket, asio::buffer(header));
        std::string message(proto::FrameLength(header), '\0');
        asio::read(socket, asio::buffer(message));
        v1::Request request;
        request.ParseFromString(message);
        v1::Response response;
        response.set_request_id(request.request_id());
        if (!serve_(request, response)) {
          return;
        }
        asio::write(socket, asio::buffer(proto::ToFrame(response)));
      }
    } catch (const boost::system::system_error&) {
      // The client has closed the connection.
    }
  }

  const Serve serve_;
  std::atomic<bool> ends_ = false;
  std::atomic<std::size_t> connections_ = 0;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

v1::Request Numbered(std::size_t index) {
  v1::Request request;
  request.set_request_id(index);
  return request;
}

TEST(CallServerManyTimes, SendsEachRequestUntilItHasItsResponse) {
  std::mutex mutex;
  std::map<std::uint64_t, int> attempts;
  ParallelServer server([&](const v1::Request& request, v1::Response& response) {
    const std::lock_guard lock(mutex);
    const bool is_first = ++attempts[request.request_id()] == 1;
    if (is_first && request.request_id() == 3) {
      response.mutable_error()->set_code(429);
      response.mutable_error()->set_retry_after_seconds(1);
      return true;
    }
    response.mutable_systemone()->set_model("m");
    return !is_first || request.request_id() != 5;
  });
  constexpr std::size_t kRequests = 50;
  std::set<std::size_t> answered;
  CallServerManyTimes(server.Flags(), kRequests, Numbered,
                      [&](std::size_t index, const v1::Response& response) {
                        EXPECT_EQ(response.request_id(), index);
                        EXPECT_TRUE(response.has_systemone());
                        EXPECT_TRUE(answered.insert(index).second);
                        return true;
                      });
  EXPECT_EQ(answered.size(), kRequests);
  EXPECT_EQ(attempts[3], 2);
  EXPECT_EQ(attempts[5], 2);
  // The request whose connection was lost has one of its own, and its thread then a new one.
  EXPECT_LE(server.connections(), kCallsAtOnce + 2);
}

TEST(CallServer, ATextThatIsNotUtf8IsNamed) {
  ServerFlags flags;
  flags.connect = "127.0.0.1:1";  // Nothing is sent.
  v1::Request request;
  request.mutable_score()->add_items()->set_text("a");
  request.mutable_score()->add_items()->set_text("a\xFF");
  const auto fault = [&] {
    try {
      CallServer(flags, request);
    } catch (const std::runtime_error& thrown) {
      return std::string(thrown.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault(), "score.items[1].text is not valid UTF-8");
}

TEST(CallServerManyTimes, SeveralAreInFlight) {
  std::atomic<std::size_t> in_flight = 0;
  ParallelServer server([&](const v1::Request& /*request*/, v1::Response& response) {
    ++in_flight;
    while (in_flight < kCallsAtOnce) {
      std::this_thread::yield();
    }
    response.mutable_systemone();
    return true;
  });
  std::size_t answered = 0;
  CallServerManyTimes(server.Flags(), kCallsAtOnce, Numbered,
                      [&](std::size_t /*index*/, const v1::Response& /*response*/) {
                        ++answered;
                        return true;
                      });
  EXPECT_EQ(answered, kCallsAtOnce);
}

TEST(CallServerManyTimes, NothingIsBegunAfterAResponseThatEndsThem) {
  std::atomic<std::size_t> received = 0;
  ParallelServer server([&](const v1::Request& /*request*/, v1::Response& response) {
    ++received;
    response.mutable_systemone();
    return true;
  });
  CallServerManyTimes(
      server.Flags(), 1000, Numbered,
      [](std::size_t /*index*/, const v1::Response& /*response*/) { return false; });
  EXPECT_LE(received, kCallsAtOnce);
}

TEST(CallServerManyTimes, AFaultIsThrown) {
  ParallelServer server([](const v1::Request& request, v1::Response& response) {
    response.mutable_systemone();
    return request.request_id() != 4;
  });
  try {
    CallServerManyTimes(
        server.Flags(), 10, Numbered,
        [](std::size_t /*index*/, const v1::Response& /*response*/) { return true; });
    ADD_FAILURE() << "nothing is thrown";
  } catch (const std::runtime_error& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("closed the connection"));
  }
}

}  // namespace client_command_test
}  // namespace scorecast::launcher
