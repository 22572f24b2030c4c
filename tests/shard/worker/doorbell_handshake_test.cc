// Connections to rank 0's doorbell from programs other than ranks ("strangers"), and addresses that
// do not lead to rank 0.

#include "shard/worker/doorbell_handshake.h"

#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"

namespace scorecast::testing {
namespace doorbell_handshake_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using shard::HandshakeTimes;
using shard::Hello;
using shard::Invitation;
using ::testing::HasSubstr;

/// A test that waits this long fails by its own time limit.
constexpr auto kForever = std::chrono::hours(1);
constexpr HandshakeTimes kPatient = {.all_ranks = kForever, .hello = kForever};

class DoorbellHandshake : public ::testing::Test {
 protected:
  DoorbellHandshake() {
    invitation_.token.fill(1);
    invitation_.root_token.fill(2);
    invitation_.port = acceptor_.local_endpoint().port();
    AddAddress("127.0.0.1");
  }

  void AddAddress(const std::string& address) {
    invitation_.addresses.emplace_back();
    std::memcpy(invitation_.addresses.back().data(), address.data(), address.size());
  }

  Hello HelloOf(int rank) const { return {invitation_.token, rank}; }

  tcp::socket Visit() {
    tcp::socket socket(context_);
    socket.connect(acceptor_.local_endpoint());
    return socket;
  }
  tcp::socket VisitWith(const Hello& hello) {
    tcp::socket socket = Visit();
    asio::write(socket, asio::buffer(&hello, sizeof(hello)));
    return socket;
  }

  /// Runs the handshake on all ranks; true if each connection reached rank 0.
  bool RanksComeTogether(int ranks, const HandshakeTimes& times = kPatient) {
    std::vector<std::future<tcp::socket>> others;
    std::vector<asio::io_context> contexts(static_cast<std::size_t>(ranks));
    for (int rank = 1; rank < ranks; ++rank) {
      others.push_back(std::async(std::launch::async, [&, rank] {
        return shard::ConnectToRoot(contexts[static_cast<std::size_t>(rank)], invitation_, rank,
                                    times);
      }));
    }
    std::vector<tcp::socket> accepted =
        shard::AcceptRanks(root_context_, acceptor_, invitation_, ranks, times);
    bool all = accepted.size() == others.size();
    for (std::size_t i = 0; i < accepted.size(); ++i) {
      tcp::socket other = others[i].get();
      all = all && other.local_endpoint() == accepted[i].remote_endpoint();
    }
    return all;
  }

  /// Whether the other side has closed it without sending a byte.
  static bool IsClosed(tcp::socket& socket) {
    char byte = 0;
    error_code error;
    asio::read(socket, asio::buffer(&byte, 1), error);
    return error == asio::error::eof || error == asio::error::connection_reset;
  }

  asio::io_context root_context_;
  asio::io_context context_;
  tcp::acceptor acceptor_{root_context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  Invitation invitation_;
};

TEST_F(DoorbellHandshake, RanksComeInAnyNumber) { EXPECT_TRUE(RanksComeTogether(17)); }

TEST_F(DoorbellHandshake, SilentStrangersDelayNoRank) {
  std::vector<tcp::socket> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(Visit());
  }
  tcp::socket half = Visit();
  asio::write(half, asio::buffer(invitation_.token, 7));
  // The strangers stay connected for as long as they like.
  EXPECT_TRUE(RanksComeTogether(3));
  for (tcp::socket& stranger : silent) {
    EXPECT_TRUE(IsClosed(stranger));
  }
  EXPECT_TRUE(IsClosed(half));
}

TEST_F(DoorbellHandshake, ASilentStrangerIsClosedWhileRanksAreAwaited) {
  tcp::socket silent = Visit();
  const HandshakeTimes times = {.all_ranks = kForever, .hello = std::chrono::milliseconds(50)};
  std::future<std::vector<tcp::socket>> accepting = std::async(std::launch::async, [&] {
    return shard::AcceptRanks(root_context_, acceptor_, invitation_, 2, times);
  });
  EXPECT_TRUE(IsClosed(silent));
  asio::io_context context;
  const tcp::socket rank = shard::ConnectToRoot(context, invitation_, 1, times);
  EXPECT_EQ(accepting.get().at(0).remote_endpoint(), rank.local_endpoint());
}

TEST_F(DoorbellHandshake, StrangersAreClosed) {
  std::vector<tcp::socket> strangers;
  Hello wrong_token = HelloOf(1);
  wrong_token.token.back() ^= 1;
  strangers.push_back(VisitWith(wrong_token));
  for (const int rank : {0, 3, -1, 1 << 30, -(1 << 30)}) {
    strangers.push_back(VisitWith(HelloOf(rank)));
  }
  strangers.push_back(Visit());
  asio::write(strangers.back(), asio::buffer(std::string(10'000, 'x')));
  strangers.push_back(Visit());
  asio::write(strangers.back(), asio::buffer(std::string("GET / HTTP/1.1\r\nHost: rank0\r\n\r\n")));
  Visit();  // The connection is closed at once.
  VisitWith(wrong_token);
  {
    tcp::socket half = Visit();
    asio::write(half, asio::buffer(invitation_.token, 7));
  }
  EXPECT_TRUE(RanksComeTogether(3));
  for (tcp::socket& stranger : strangers) {
    EXPECT_TRUE(IsClosed(stranger));
  }
}

// The first connection of a rank stays: a later one with the same rank cannot replace it.
TEST_F(DoorbellHandshake, ARankComesOnce) {
  tcp::socket first = VisitWith(HelloOf(1));
  std::future<std::vector<tcp::socket>> accepting = std::async(std::launch::async, [&] {
    return shard::AcceptRanks(root_context_, acceptor_, invitation_, 3, kPatient);
  });
  shard::Token received{};
  asio::read(first, asio::buffer(received));
  EXPECT_EQ(received, invitation_.root_token);
  tcp::socket second = VisitWith(HelloOf(1));
  EXPECT_TRUE(IsClosed(second));
  tcp::socket other = VisitWith(HelloOf(2));
  const std::vector<tcp::socket> accepted = accepting.get();
  ASSERT_EQ(accepted.size(), 2U);
  EXPECT_EQ(accepted[0].remote_endpoint(), first.local_endpoint());
  EXPECT_EQ(accepted[1].remote_endpoint(), other.local_endpoint());
}

TEST_F(DoorbellHandshake, NamesTheRanksThatDoNotCome) {
  const tcp::socket two = VisitWith(HelloOf(2));
  const HandshakeTimes hasty = {.all_ranks = std::chrono::seconds(3), .hello = kForever};
  const tcp::socket silent = Visit();
  try {
    shard::AcceptRanks(root_context_, acceptor_, invitation_, 4, hasty);
    FAIL() << "ranks 1 and 3 were not there";
  } catch (const proto::StartupError& fault) {
    EXPECT_EQ(fault.what(), "ranks 1, 3 did not connect to rank 0's doorbell (port " +
                                std::to_string(invitation_.port) + " of 127.0.0.1) within 3 s");
  }
}

// One of rank 0's addresses does not respond, one refuses, and one belongs to another program.
TEST_F(DoorbellHandshake, FindsTheAddressOfRankZero) {
  invitation_.addresses.clear();
  tcp::acceptor silent(context_, {asio::ip::make_address("127.0.0.2"), invitation_.port});
  AddAddress("127.0.0.2");
  AddAddress("127.0.0.3");  // Refuses connections.
  tcp::acceptor rude(context_, {asio::ip::make_address("127.0.0.4"), invitation_.port});
  AddAddress("127.0.0.4");
  AddAddress("127.0.0.1");
  asio::io_context context;
  std::future<tcp::socket> rank = std::async(
      std::launch::async, [&] { return shard::ConnectToRoot(context, invitation_, 1, kPatient); });
  tcp::socket stranger = rude.accept();
  asio::write(stranger, asio::buffer(std::string(sizeof(shard::Token), 'x')));
  Hello hello;
  asio::read(stranger, asio::buffer(&hello, sizeof(hello)));
  EXPECT_TRUE(IsClosed(stranger));
  const std::vector<tcp::socket> accepted =
      shard::AcceptRanks(root_context_, acceptor_, invitation_, 2, kPatient);
  EXPECT_EQ(rank.get().local_endpoint(), accepted.at(0).remote_endpoint());
}

// Rank 0 closes a slow connection; the rank connects again.
TEST_F(DoorbellHandshake, ConnectsAgainIfItWasClosed) {
  asio::io_context context;
  std::future<tcp::socket> rank = std::async(
      std::launch::async, [&] { return shard::ConnectToRoot(context, invitation_, 1, kPatient); });
  acceptor_.accept().close();
  const std::vector<tcp::socket> accepted =
      shard::AcceptRanks(root_context_, acceptor_, invitation_, 2, kPatient);
  EXPECT_EQ(rank.get().local_endpoint(), accepted.at(0).remote_endpoint());
}

TEST_F(DoorbellHandshake, ReportsThatRankZeroWasNotFound) {
  // A port that is bound but not listened on, so that no other program can listen there either.
  const tcp::socket bound(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  invitation_.port = bound.local_endpoint().port();
  const HandshakeTimes hasty = {.all_ranks = std::chrono::milliseconds(300), .hello = kForever};
  asio::io_context context;
  try {
    shard::ConnectToRoot(context, invitation_, 1, hasty);
    FAIL() << "no program listens there";
  } catch (const proto::StartupError& fault) {
    EXPECT_EQ(fault.what(), "cannot connect to rank 0's doorbell (port " +
                                std::to_string(invitation_.port) +
                                " of 127.0.0.1) within 1 s: Connection refused");
  }
}

}  // namespace doorbell_handshake_test
}  // namespace scorecast::testing
