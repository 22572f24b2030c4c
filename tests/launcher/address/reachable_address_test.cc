// tests/e2e/two_hosts_test.sh tests which of several networks is taken, with hosts of its own.

#include "launcher/address/reachable_address.h"

#include <cstdlib>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace reachable_address_test {

using boost::asio::ip::tcp;

TEST(ReachableAddress, OfOneAddressIsThatAddress) {
  for (const std::string ip : {"127.0.0.1", "10.0.0.7", "::1", "2001:db8::1"}) {
    EXPECT_EQ(ReachableAddress(ip), ip);
  }
}

/// Whether a client gets to a socket that listens on `listening` by the address for it.
bool IsReached(const std::string& listening) {
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, {boost::asio::ip::make_address(listening), 0});
  const std::string ip = ReachableAddress(listening);
  boost::system::error_code error;
  tcp::socket client(io);
  client.connect({boost::asio::ip::make_address(ip), acceptor.local_endpoint().port()}, error);
  EXPECT_FALSE(error) << ip << ": " << error.message();
  return !error;
}

TEST(ReachableAddress, OfEveryAddressIsOneOfThisHost) {
  EXPECT_TRUE(IsReached("0.0.0.0"));
  boost::asio::io_context io;
  boost::system::error_code no_ipv6;
  tcp::socket(io).open(tcp::v6(), no_ipv6);
  if (!no_ipv6) {
    EXPECT_TRUE(IsReached("::"));
  }
}

TEST(ReachableAddress, AnUnusableAddressOfSlurmIsPassedOver) {
  const std::string without = ReachableAddress("0.0.0.0");
  for (const char* value : {"", "not an address", "127.0.0.1", "::1", "255.255.255.255"}) {
    setenv("SLURM_LAUNCH_NODE_IPADDR", value, 1);
    EXPECT_EQ(ReachableAddress("0.0.0.0"), without) << value;
  }
  // The route to this host's own address begins at that address.
  setenv("SLURM_LAUNCH_NODE_IPADDR", without.c_str(), 1);
  EXPECT_EQ(ReachableAddress("0.0.0.0"), without);
  unsetenv("SLURM_LAUNCH_NODE_IPADDR");
}

}  // namespace reachable_address_test
}  // namespace scorecast::launcher
