#include "coordinator/transports/connection/io_turns.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/connection/turn_executor.h"
#include "tests/cpu_time.h"

namespace scorecast::coordinator {
namespace io_turns_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using ::testing::ElementsAre;

/// Turns of one thread, which is that of the test.
class Turns : public ::testing::Test {
 protected:
  asio::any_io_executor Connection(const std::string& address) {
    return turns_.ForClient({address, ++connections_});
  }
  std::function<void()> Adding(const std::string& name) {
    return [this, name] { names_.push_back(name); };
  }

  asio::io_context io_;
  IoTurns turns_{io_, /*threads=*/1};
  std::uint64_t connections_ = 0;
  std::vector<std::string> names_;
};

TEST_F(Turns, OfOneConnectionAreInOrder) {
  const asio::any_io_executor connection = Connection("a");
  asio::post(connection, Adding("1"));
  asio::post(connection, Adding("2"));
  asio::dispatch(connection, Adding("3"));
  io_.run();
  EXPECT_THAT(names_, ElementsAre("1", "2", "3"));
}

TEST_F(Turns, AreThoseOfTheClientThatTheConnectionIsMovedTo) {
  // Of three connections of "a", one becomes another client's, and then has half of the turns.
  std::vector<asio::any_io_executor> connections = {Connection("a"), Connection("a"),
                                                    Connection("a")};
  asio::post(connections[2], [&] {
    connections[2].target<TurnExecutor>()->MoveTo({"key", 3, "key"});
  });
  io_.run();
  // Turns this long count as the thread's time of the CPU, so that they are equal even if another
  // process interrupts one of them.
  const auto computing = [this](const std::string& name) {
    return [this, name] {
      for (const double end = ThreadCpuSeconds() + 3e-3; ThreadCpuSeconds() < end;) {
      }
      names_.push_back(name);
    };
  };
  for (int i = 0; i < 4; ++i) {
    asio::post(connections[0], computing("0"));
    asio::post(connections[1], computing("1"));
    asio::post(connections[2], computing("moved"));
  }
  io_.restart();
  io_.run();
  EXPECT_EQ(std::count(names_.begin(), names_.begin() + 8, "moved"), 4)
      << ::testing::PrintToString(names_);
}

TEST_F(Turns, RunAtOnceWhatTheirConnectionDispatches) {
  const asio::any_io_executor connection = Connection("a");
  const asio::any_io_executor other = Connection("a");
  asio::post(connection, [&] {
    asio::post(connection, Adding("posted"));
    asio::dispatch(connection, Adding("dispatched"));
    asio::dispatch(other, Adding("dispatched to another"));
    names_.emplace_back("end");
  });
  io_.run();
  EXPECT_EQ(names_.size(), 4);
  EXPECT_EQ(names_[0], "dispatched");
  EXPECT_EQ(names_[1], "end");
}

TEST_F(Turns, OfAnotherAddressDoNotWaitForManyConnections) {
  std::vector<asio::any_io_executor> many;
  for (int i = 0; i < 50; ++i) {
    many.push_back(Connection("many"));
    for (int handler = 0; handler < 20; ++handler) {
      asio::post(many.back(), Adding("many"));
    }
  }
  asio::post(Connection("one"), Adding("one"));
  io_.run();
  EXPECT_EQ(names_.size(), 1001);
  EXPECT_LE(std::ranges::find(names_, "one") - names_.begin(), 2);
}

TEST_F(Turns, OfAnotherNetworkDoNotWaitForManyAddresses) {
  std::vector<asio::any_io_executor> many;
  for (std::uint64_t i = 0; i < 100; ++i) {
    many.push_back(turns_.ForClient({std::to_string(i), i, "many"}));
    asio::post(many.back(), Adding("many"));
  }
  const asio::any_io_executor one = turns_.ForClient({"one", 100, "other"});
  asio::post(one, Adding("one"));
  io_.run();
  const auto place = std::find(names_.begin(), names_.end(), "one") - names_.begin();
  EXPECT_LE(place, 1);
}

TEST_F(Turns, OfTheServerDoNotWaitForTheClients) {
  std::vector<asio::any_io_executor> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back(Connection("address " + std::to_string(i)));
    asio::post(many.back(), Adding("client"));
  }
  asio::post(turns_.ForServer(), Adding("server"));
  io_.run();
  EXPECT_LE(std::ranges::find(names_, "server") - names_.begin(), 2);
}

TEST_F(Turns, GiveWayToTheSockets) {
  const asio::any_io_executor busy = Connection("busy");
  bool stops = false;
  std::function<void()> go_on = [&] {
    if (!stops) {
      asio::post(busy, go_on);
    }
  };
  asio::post(busy, go_on);
  asio::steady_timer timer(Connection("other"), std::chrono::milliseconds(1));
  timer.async_wait([&](const error_code&) { stops = true; });
  io_.run();
  EXPECT_TRUE(stops);
}

TEST_F(Turns, CarrySockets) {
  tcp::acceptor acceptor(turns_.ForServer(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket client(Connection("client"));
  tcp::socket server(Connection("server"));
  std::string request(1 << 20, 'q');
  std::string arrived(request.size(), ' ');
  std::array<char, 2> reply{};
  acceptor.async_accept(server, [&](const error_code& error) {
    ASSERT_FALSE(error);
    asio::async_read(server, asio::buffer(arrived), [&](const error_code& fault, std::size_t) {
      ASSERT_FALSE(fault);
      asio::async_write(server, asio::buffer("ok", 2), [](const error_code&, std::size_t) {});
    });
  });
  client.async_connect(acceptor.local_endpoint(), [&](const error_code& error) {
    ASSERT_FALSE(error);
    asio::async_write(client, asio::buffer(request), [](const error_code&, std::size_t) {});
    asio::async_read(client, asio::buffer(reply), [](const error_code&, std::size_t) {});
  });
  io_.run();
  EXPECT_EQ(arrived, request);
  EXPECT_THAT(reply, ElementsAre('o', 'k'));
}

TEST_F(Turns, DestroyTheHandlersThatWait) {
  const auto held = std::make_shared<int>(1);
  {
    std::optional<asio::io_context> io(std::in_place);
    IoTurns turns(*io, /*threads=*/1);
    const asio::any_io_executor connection = turns.ForClient({"a", 1});
    asio::post(connection, [held, connection] {});
    asio::post(connection, [held] {});
    asio::post(turns.ForClient({"b", 2}), [held, connection] {});
    EXPECT_EQ(held.use_count(), 4);
    // A handler of Asio would be destroyed with the context.
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TurnsOfThreads, AreInOrderAndOneAtATimeForEachConnection) {
  constexpr int kConnections = 20;
  constexpr int kHandlers = 500;
  struct Connection {
    asio::any_io_executor executor;
    std::vector<int> order = {};  // Not atomic: its handlers run one at a time.
  };
  asio::io_context io;
  IoTurns turns(io, /*threads=*/3);
  auto work = std::make_optional(asio::make_work_guard(io));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&io] { io.run(); });
  }
  std::vector<Connection> connections;
  for (int i = 0; i < kConnections; ++i) {
    connections.push_back(
        {turns.ForClient({std::to_string(i % 3), static_cast<std::uint64_t>(i)})});
  }
  for (int handler = 0; handler < kHandlers; ++handler) {
    for (Connection& connection : connections) {
      asio::post(connection.executor,
                 [&connection, handler] { connection.order.push_back(handler); });
    }
  }
  work.reset();
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Connection& connection : connections) {
    ASSERT_EQ(connection.order.size(), kHandlers);
    EXPECT_TRUE(std::ranges::is_sorted(connection.order));
  }
}

TEST(TurnsOfThreads, UseAllThreads) {
  asio::io_context io;
  IoTurns turns(io, /*threads=*/2);
  std::atomic<int> met = 0;
  // Ends only if both run at the same time.
  const auto meet = [&met] {
    ++met;
    while (met < 2) {
      std::this_thread::yield();
    }
  };
  const asio::any_io_executor one = turns.ForClient({"a", 1});
  asio::post(one, [&] {
    asio::post(turns.ForClient({"a", 2}), meet);
    meet();
  });
  std::thread other([&io] { io.run(); });
  io.run();
  other.join();
  EXPECT_EQ(met, 2);
}

TEST(TurnsOfThreads, EndWithTheLastExecutor) {
  asio::io_context io;
  IoTurns turns(io, /*threads=*/2);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    asio::post(turns.ForClient({std::to_string(i % 7), i}), [] {});
  }
  std::thread other([&io] { io.run(); });
  io.run();
  other.join();
}

}  // namespace io_turns_test
}  // namespace scorecast::coordinator
