#include "coordinator/transports/connection/client_address.h"

#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace {

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

}  // namespace
}  // namespace scorecast::coordinator
