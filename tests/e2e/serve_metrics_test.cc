// What a running service tells about itself over HTTP: metrics, health and readiness.

#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/metrics/prometheus_text.h"
#include "tests/coordinator/transports/http/http_client.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_metrics_test {

using coordinator::HttpReply;
using ::testing::HasSubstr;
using ::testing::Not;

HttpReply Get(const Service& service, const std::string& path) {
  const std::string& address = service.http_address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  return coordinator::HttpClient(static_cast<std::uint16_t>(port)).Call(coordinator::Get(path));
}

std::map<std::string, TextFamily> Metrics(const Service& service) {
  const HttpReply reply = Get(service, "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.Field("content-type"), HasSubstr("text/plain; version=0.0.4"));
  return ParsePrometheusText(reply.body);
}

double Value(const std::map<std::string, TextFamily>& families, const std::string& name,
             const std::string& labels = "") {
  return families.at(name).samples.at(name + labels);
}

TEST(ServeMetrics, CountWhatTheServiceDoes) {
  const Service service(NumberedCommand(2, {"--metrics-clients"}));
  const auto client = service.Connect();
  constexpr int kRequests = 3;
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_TRUE(client->Call(NumberedRequest(4)).has_score());
  }
  v1::Request fault = NumberedRequest(4);
  fault.mutable_score()->clear_query();
  EXPECT_EQ(client->Call(fault).error().code(), 400);
  EXPECT_EQ(Get(service, "/nothing").status, 404);

  const auto families = Metrics(service);
  const std::string counted = "scorecast_requests_total";
  EXPECT_EQ(Value(families, counted, R"({endpoint="score",code="200"})"), kRequests);
  EXPECT_EQ(Value(families, counted, R"({endpoint="score",code="400"})"), 1);
  EXPECT_EQ(Value(families, counted, R"({endpoint="none",code="404"})"), 1);
  EXPECT_EQ(Value(families, "scorecast_client_requests_total",
                  R"({endpoint="score",client="127.0.0.1",code="200"})"),
            kRequests);
  EXPECT_EQ(families.at("scorecast_pass_rows").samples.at("scorecast_pass_rows_count"), kRequests);
  EXPECT_EQ(families.at("scorecast_request_seconds")
                .samples.at(R"(scorecast_request_seconds_count{endpoint="score"})"),
            kRequests);
  EXPECT_EQ(Value(families, "scorecast_queue_requests"), 0);
  EXPECT_GE(Value(families, "scorecast_connections"), 2);
  EXPECT_EQ(Value(families, "scorecast_requests_in_flight"), 0);
  EXPECT_GT(Value(families, "process_resident_memory_bytes"), 1e6);
  // Rank 1 has yet to report.
  for (const std::string operation : {"exchange", "share", "broadcast"}) {
    EXPECT_TRUE(Eventually([&] {
      return Value(Metrics(service), "scorecast_rank_received_bytes_total",
                   R"({rank="1",operation=")" + operation + "\"}") > 0;
    })) << operation;
  }
  for (const std::string rank : {"0", "1"}) {
    const std::string labels = "{rank=\"" + rank + "\"}";
    EXPECT_GT(Value(Metrics(service), "scorecast_rank_compute_seconds_total", labels), 0);
    EXPECT_GT(Value(Metrics(service), "scorecast_rank_wait_seconds_total", labels), 0);
  }
}

TEST(ServeMetrics, AStoppedRankMakesTheServiceUnreadyUntilItIsBack) {
  const Service service(NumberedCommand(2));
  EXPECT_TRUE(Eventually([&] { return Get(service, "/ready").status == 200; }));
  const std::vector<pid_t> ranks = service.Ranks();
  ASSERT_EQ(ranks.size(), 2U);
  kill(ranks[1], SIGSTOP);
  // A pass that hangs does not delay the replies.
  const auto client = service.Connect();
  client->Send(NumberedRequest(1));
  EXPECT_TRUE(Eventually([&] { return Get(service, "/ready").status == 503; }));
  const HttpReply unready = Get(service, "/ready");
  EXPECT_THAT(
      unready.Json()["reason"].get<std::string>(),
      ::testing::MatchesRegex("rank 1 \\(host .*\\) has been silent for .* s, of at most 3 s"));
  EXPECT_TRUE(unready.Json()["ranks"][1]["late"]);
  EXPECT_EQ(Get(service, "/health").status, 200);
  EXPECT_GT(Value(Metrics(service), "scorecast_rank_silence_seconds", "{rank=\"1\"}"), 3);
  EXPECT_THAT(Get(service, "/metrics").body, Not(HasSubstr("127.0.0.1")))
      << "without --metrics-clients";
  kill(ranks[1], SIGCONT);
  EXPECT_TRUE(Eventually([&] { return Get(service, "/ready").status == 200; }));
  EXPECT_TRUE(client->Receive().has_score());
}

}  // namespace serve_metrics_test
}  // namespace scorecast::testing
