#include "tests/coordinator/transports/socket/connection_checks.h"

#include <gtest/gtest.h>

#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {

void ExpectError(const v1::Response& response, std::uint64_t request_id, int code,
                 const std::string& reason) {
  EXPECT_EQ(response.request_id(), request_id);
  EXPECT_EQ(response.error().code(), code);
  EXPECT_EQ(response.error().reason(), reason) << response.error().message();
  EXPECT_FALSE(response.error().message().empty());
}

void ExpectRequestsOfALeavingClientDropped(v1::Request (*numbered)(std::uint64_t),
                                           const v1::Request& fault) {
  FakeSocketServer server;
  server.cluster().Hold();
  auto client = server.Connect();
  for (std::uint64_t number = 0; number < 20; ++number) {
    client->Send(numbered(number));
  }
  // The first pass is in flight. The error of request 20 proves that the requests before it were
  // read and wait.
  ExpectError(client->Call(fault), 20, 400, "missing_field");
  client.reset();
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  server.cluster().Release();
  server.scheduler().WaitIdle();
  EXPECT_EQ(server.cluster().plans().size(), 1U);
}

}  // namespace scorecast::coordinator
