#include "proto/base/host_port.h"

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace host_port_test {

TEST(HostPort, IsAHostAndAPort) {
  const auto name = ParseHostPort("node7:4464");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "node7");
  EXPECT_EQ(name->port, "4464");
  const auto v6 = ParseHostPort("[::1]:65535");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, "65535");
}

TEST(HostPort, IsNothingElse) {
  for (const char* text :
       {"", "node7", "4464", "node7:", "node7:0", "node7:65536", "node7:44x", "node7:-1", "a/b"}) {
    EXPECT_FALSE(ParseHostPort(text)) << text;
  }
}

}  // namespace host_port_test
}  // namespace scorecast::proto
