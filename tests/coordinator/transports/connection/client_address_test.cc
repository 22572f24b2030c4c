#include "coordinator/transports/connection/client_address.h"

#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace client_address_test {

std::string Counted(const char* address) {
  return CountedAddress(boost::asio::ip::make_address(address)).to_string();
}

TEST(CountedAddress, IsAnIpv4AddressOrTheFirstHalfOfAnIpv6Address) {
  EXPECT_EQ(Counted("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(Counted("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(Counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
  EXPECT_EQ(Counted("2001:db8:1:2::9"), "2001:db8:1:2::");
  EXPECT_EQ(Counted("2001:db8:1:3::9"), "2001:db8:1:3::");
}

TEST(Network, HasTheFirst24BitsOfAnIpv4AddressOr56OfAnIpv6Address) {
  const auto network = [](const char* address) {
    return NetworkOf(boost::asio::ip::make_address(address));
  };
  EXPECT_EQ(network("192.0.2.7"), "192.0.2.0/24");
  EXPECT_EQ(network("::ffff:192.0.2.9"), "192.0.2.0/24");
  EXPECT_EQ(network("192.0.3.7"), "192.0.3.0/24");
  EXPECT_EQ(network("2001:db8:1:2ff::1"), "2001:db8:1:200::/56");
  EXPECT_EQ(network("2001:db8:1:3ff::1"), "2001:db8:1:300::/56");
}

TEST(UnmappedAddress, IsTheIpv4AddressInAnIpv6Address) {
  const auto unmapped = [](const char* address) {
    return Unmapped(boost::asio::ip::make_address(address)).to_string();
  };
  EXPECT_EQ(unmapped("::ffff:127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(unmapped("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(unmapped("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2:3:4:5:6");
}

TEST(ClientOf, IsTheCertificateOrTheAddress) {
  const auto address = boost::asio::ip::make_address("192.0.2.7");
  EXPECT_EQ(ClientOf(address, "", 3), (ClientId{"192.0.2.7", 3, "192.0.2.0/24"}));
  EXPECT_EQ(ClientOf(address, "a.example.org", 3),
            (ClientId{"cert:a.example.org", 3, "cert:a.example.org"}));
  EXPECT_NE(ClientOf(address, "192.0.2.7", 3).address, ClientOf(address, "", 3).address);
}

}  // namespace client_address_test
}  // namespace scorecast::coordinator
