// Whose word about a client's address counts.

#include "coordinator/access/trusted_proxies.h"

#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace trusted_proxies_test {

boost::asio::ip::address Address(const std::string& text) {
  return boost::asio::ip::make_address(text);
}

TEST(TrustedProxies, AreNetworksOrAddresses) {
  TrustedProxies proxies;
  EXPECT_TRUE(proxies.empty());
  for (const std::string good :
       {"10.0.0.0/8", "192.0.2.7", "fd00::/8", "::ffff:198.51.100.0/120"}) {
    EXPECT_EQ(proxies.Add(good), "");
  }
  for (const std::string yes :
       {"10.255.0.1", "::ffff:10.0.0.1", "192.0.2.7", "fdff::1", "198.51.100.9"}) {
    EXPECT_TRUE(proxies.Has(Address(yes))) << yes;
  }
  for (const std::string no : {"11.0.0.1", "192.0.2.6", "fe00::1", "198.51.101.9", "::1"}) {
    EXPECT_FALSE(proxies.Has(Address(no))) << no;
  }
  for (const std::string bad : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/-1", "host",
                                "fd00::/129", "::ffff:10.0.0.0/8", "10.0.0.0/8 "}) {
    EXPECT_NE(TrustedProxies().Add(bad), "") << bad;
  }
}

TEST(TrustedProxies, NameTheLastHopThatIsNoneOfThem) {
  TrustedProxies proxies;
  proxies.Add("10.0.0.0/8");
  const auto client = [&](const std::string& peer, const std::string& forwarded) {
    return proxies.ClientOf(Address(peer), forwarded).to_string();
  };
  EXPECT_EQ(client("10.0.0.1", "192.0.2.9"), "192.0.2.9");
  EXPECT_EQ(client("10.0.0.1", "203.0.113.5, 192.0.2.9, 10.0.0.2"), "192.0.2.9")
      << "what stands before it may be forged by the client";
  EXPECT_EQ(client("10.0.0.1", "192.0.2.9:4711"), "192.0.2.9");
  EXPECT_EQ(client("10.0.0.1", "[2001:db8::1]:80"), "2001:db8::1");
  EXPECT_EQ(client("10.0.0.1", "::ffff:192.0.2.9"), "192.0.2.9");
  EXPECT_EQ(client("10.0.0.1", ""), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", "unknown, 10.0.0.2"), "10.0.0.2") << "the proxy that wrote it";
  EXPECT_EQ(client("10.0.0.1", "10.0.0.3,10.0.0.2"), "10.0.0.3");
  EXPECT_EQ(client("192.0.2.1", "203.0.113.5"), "192.0.2.1") << "anybody could claim that";
}

}  // namespace trusted_proxies_test
}  // namespace scorecast::coordinator
