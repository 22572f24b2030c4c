#include "coordinator/transports/connection/listening_socket.h"

#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace listening_socket_test {

using boost::asio::ip::tcp;
using boost::system::error_code;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string kHost = "127.0.0.1";

auto SaysThatItIsTaken(std::uint16_t port) {
  return ThrowsMessage<proto::StartupError>(
      AllOf(HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(port)), HasSubstr("in use")));
}

class ListeningSocket : public ::testing::Test {
 protected:
  error_code Connect(tcp::socket& socket, std::uint16_t port) {
    error_code error;
    socket.connect({boost::asio::ip::make_address(kHost), port}, error);
    return error;
  }

  boost::asio::io_context io_;
};

TEST_F(ListeningSocket, SaysWhyItCannotListen) {
  const int taken = OpenListeningSocket(kHost, 0);
  const std::uint16_t port = BoundPort(taken);
  EXPECT_THAT([&] { OpenListeningSocket(kHost, port); }, SaysThatItIsTaken(port));
  EXPECT_THROW(OpenListeningSocket("not a host", 0), proto::StartupError);
  close(taken);
}

TEST_F(ListeningSocket, KnowsItsAddress) {
  const int socket = OpenBoundSocket("localhost", 0);
  EXPECT_THAT(BoundHost(socket), ::testing::AnyOf("127.0.0.1", "::1"));
  EXPECT_NE(BoundPort(socket), 0);
  close(socket);
}

TEST_F(ListeningSocket, KnowsWhetherItIsOnLoopback) {
  const auto is_on_loopback = [](const std::string& host) {
    const int socket = OpenBoundSocket(host, 0);
    const bool is = IsOnLoopback(socket);
    close(socket);
    return is;
  };
  EXPECT_TRUE(is_on_loopback("127.0.0.1"));
  EXPECT_TRUE(is_on_loopback("127.1.2.3"));
  EXPECT_FALSE(is_on_loopback("0.0.0.0"));
  for (const auto& [host, expected] :
       {std::pair("::1", true), std::pair("::ffff:127.0.0.1", true), std::pair("::", false)}) {
    try {
      EXPECT_EQ(is_on_loopback(host), expected) << host;
    } catch (const proto::StartupError& fault) {
      // Only a system without IPv6 has no such address.
      EXPECT_THAT(fault.what(), HasSubstr("cannot listen")) << host;
    }
  }
}

TEST_F(ListeningSocket, ABoundSocketRefusesClientsAndKeepsTheAddressFromOthers) {
  const int bound = OpenBoundSocket(kHost, 0);
  const std::uint16_t port = BoundPort(bound);
  EXPECT_FALSE(IsListeningSocket(bound));
  EXPECT_THAT([&] { OpenBoundSocket(kHost, port); }, SaysThatItIsTaken(port));
  // Programs that allow others to have their address do not get it either.
  error_code error;
  tcp::acceptor other(io_, tcp::v4());
  other.set_option(tcp::acceptor::reuse_address(true));
  other.bind({boost::asio::ip::make_address(kHost), port}, error);
  EXPECT_EQ(error, boost::asio::error::address_in_use);
  tcp::socket refused(io_);
  EXPECT_EQ(Connect(refused, port), boost::asio::error::connection_refused);

  Listen(bound);
  EXPECT_TRUE(IsListeningSocket(bound));
  tcp::socket client(io_);
  EXPECT_FALSE(Connect(client, port));
  Listen(bound);  // Changes nothing.
  EXPECT_THAT([&] { OpenBoundSocket(kHost, port); }, SaysThatItIsTaken(port));
  close(bound);
}

TEST_F(ListeningSocket, ConnectionsThatLingerDoNotKeepTheNextServerFromTheAddress) {
  int server = OpenListeningSocket(kHost, 0);
  const std::uint16_t port = BoundPort(server);
  for (int restart = 0; restart < 3; ++restart) {
    // The side that closes first is the one whose connection lingers.
    tcp::socket client(io_);
    ASSERT_FALSE(Connect(client, port));
    const int accepted = accept(server, nullptr, nullptr);
    ASSERT_GE(accepted, 0);
    close(accepted);
    close(server);
    char byte = 0;
    error_code end;
    boost::asio::read(client, boost::asio::buffer(&byte, 1), end);
    EXPECT_EQ(end, boost::asio::error::eof);
    client.close();

    server = OpenBoundSocket(kHost, port);
    EXPECT_THAT([&] { OpenBoundSocket(kHost, port); }, SaysThatItIsTaken(port));
    Listen(server);
  }
  close(server);
}

}  // namespace listening_socket_test
}  // namespace scorecast::coordinator
