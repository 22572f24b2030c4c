// Requests are counted once each, whichever way they end.

#include "coordinator/metrics/request_metrics.h"

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/metrics/metrics.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/throwing_endpoint.h"
#include "tests/coordinator/metrics/prometheus_text.h"

namespace scorecast::coordinator {
namespace request_metrics_test {

using scorecast::testing::ParsePrometheusText;
using scorecast::testing::TextFamily;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kScore = R"({"query":[1],"items":[[2],[3]],"labels":[" no"]})";

/// A server whose requests and passes are counted. The clock of its deadlines is ahead by `passed`.
struct CountedServer {
  explicit CountedServer(const EndpointList& endpoints = Endpoints())
      : metrics(endpoints, /*names_clients=*/true),
        server(
            FakeServer::MultiItem(),
            {.on_pass = [this](const PassSummary& pass) { metrics.passes.OnPass(pass); }},
            endpoints, [this] { return Clock::now() + passed.load(); }, &metrics.requests) {}

  std::shared_ptr<AskingCall> Send(const std::string& body, const std::string& client = "10.0.0.1",
                                   const std::string& url = "/v1/score") {
    const auto call = std::make_shared<AskingCall>(
        OnDelta(), std::numeric_limits<std::int64_t>::max(), ClientId{client, 0});
    const Endpoint& endpoint = *server.service.FindByUrl(url);
    Begin(server.service, endpoint, endpoint.FromJson(ParseJson(body, 1000).value()), call);
    return call;
  }
  /// Sends a request and forms its response.
  void Call(const std::string& body, const std::string& client = "10.0.0.1",
            const std::string& url = "/v1/score") {
    (void)Send(body, client, url)->Wait().Respond();
    server.scheduler.WaitIdle();
  }

  std::map<std::string, TextFamily> Text() {
    const ServiceStatus status{server.cluster.Status(), server.scheduler.status(), {}};
    return ParsePrometheusText(MetricsResource(
                                   metrics, [&] { return status; }, /*page_bytes=*/10)
                                   .get()
                                   ->body);
  }
  /// By endpoint, client and code.
  std::map<std::string, double> Requests() {
    return Text()["scorecast_client_requests_total"].samples;
  }
  double Value(const std::string& family, const std::string& sample) {
    return Text()[family].samples.at(sample);
  }

  std::atomic<Clock::duration> passed = Clock::duration::zero();
  Metrics metrics;
  FakeServer server;
};

std::string Counted(const std::string& endpoint, const std::string& client,
                    const std::string& code) {
  return "scorecast_client_requests_total{endpoint=\"" + endpoint + "\",client=\"" + client +
         "\",code=\"" + code + "\"}";
}

TEST(RequestMetrics, CountResponsesAndWhatTheyTook) {
  CountedServer counted;
  EXPECT_THAT(counted.Requests(), IsEmpty());
  EXPECT_EQ(counted.Value("scorecast_items_total", "scorecast_items_total{endpoint=\"score\"}"), 0)
      << "from the start";
  counted.Call(kScore);
  counted.Call(kScore);
  counted.Call(R"({"prompt":"p","max_new_tokens":3})", "::1", "/v1/chunked");
  EXPECT_THAT(counted.Requests(), UnorderedElementsAre(Pair(Counted("score", "10.0.0.1", "200"), 2),
                                                       Pair(Counted("chunked", "::1", "200"), 1)));
  const auto value = [&](const std::string& name, const std::string& labels) {
    return counted.Value(name, name + "{" + labels + "}");
  };
  EXPECT_EQ(value("scorecast_items_total", "endpoint=\"score\""), 4);
  EXPECT_EQ(value("scorecast_items_total", "endpoint=\"chunked\""), 1);
  EXPECT_GE(value("scorecast_prompt_tokens_total", "endpoint=\"score\""), 6);
  EXPECT_EQ(value("scorecast_cached_prompt_tokens_total", "endpoint=\"score\""), 0);
  EXPECT_EQ(value("scorecast_completion_tokens_total", "endpoint=\"chunked\""), 3);
  EXPECT_EQ(counted.Value("scorecast_request_seconds",
                          "scorecast_request_seconds_count{endpoint=\"score\"}"),
            2);
  for (const std::string phase : {"tokenize", "queue", "forward"}) {
    EXPECT_EQ(counted.Value("scorecast_request_phase_seconds",
                            "scorecast_request_phase_seconds_count{endpoint=\"score\",phase=\"" +
                                phase + "\"}"),
              2);
  }
  EXPECT_EQ(counted.Value("scorecast_pass_rows", "scorecast_pass_rows_count"),
            counted.server.scheduler.status().passes);
  EXPECT_EQ(counted.metrics.requests.ended(), 3);
  EXPECT_NEAR(counted.metrics.passes.seconds(),
              counted.Value("scorecast_pass_seconds", "scorecast_pass_seconds_sum"), 1e-6);
}

TEST(RequestMetrics, CountErrorsByTheirCode) {
  CountedServer counted;
  counted.Call("{}");
  counted.Call(R"({"query":[1],"items":[[2]],"labels":["none of the labels"]})");
  counted.server.service.NoteRefusal(nullptr, "10.0.0.9", {404, "unknown_endpoint", "", ""});
  EXPECT_THAT(counted.Requests(),
              UnorderedElementsAre(Pair(Counted("score", "10.0.0.1", "400"), 2),
                                   Pair(Counted("none", "10.0.0.9", "404"), 1)));
  EXPECT_EQ(counted.Value("scorecast_request_seconds",
                          "scorecast_request_seconds_count{endpoint=\"score\"}"),
            0)
      << "an error has no times";
}

TEST(RequestMetrics, CountARequestOnceHoweverItEnds) {
  CountedServer counted;
  counted.server.cluster.Hold();
  const auto late =
      counted.Send(R"({"query":[1],"items":[[2]],"labels":[" no"],"timeout_ms":60000})");
  const auto left = counted.Send(kScore, "10.0.0.2");
  counted.server.service.Cancel({left});
  counted.passed = std::chrono::minutes(10);
  counted.server.service.deadlines().ReadClock();
  EXPECT_FALSE(late->Wait().Respond());
  EXPECT_FALSE(left->Wait().Respond());
  counted.server.cluster.Release();
  counted.server.scheduler.WaitIdle();
  // Computed, but the client leaves before its response is formed.
  counted.Send(kScore, "10.0.0.3")->Wait();
  counted.server.scheduler.WaitIdle();
  counted.server.service.StartDraining();
  counted.Call(kScore, "10.0.0.4");
  EXPECT_THAT(counted.Requests(),
              UnorderedElementsAre(Pair(Counted("score", "10.0.0.1", "504"), 1),
                                   Pair(Counted("score", "10.0.0.2", "499"), 1),
                                   Pair(Counted("score", "10.0.0.3", "499"), 1),
                                   Pair(Counted("score", "10.0.0.4", "503"), 1)));
}

TEST(RequestMetrics, CountAResponseThatCannotBeFormed) {
  const ThrowingEndpoint endpoint(ThrowingEndpoint::Where::kResponding);
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  CountedServer counted(endpoints);
  counted.Call("{}");
  EXPECT_THAT(counted.Requests(),
              UnorderedElementsAre(Pair(Counted("throwing", "10.0.0.1", "503"), 1)));
}

TEST(RequestMetrics, NameOnlyTheFirstClients) {
  RequestMetrics metrics(Endpoints(), /*names_clients=*/true);
  for (std::size_t i = 0; i < kMaxNamedClients + 50; ++i) {
    metrics.OnEnd({nullptr, "client" + std::to_string(i), 404, nullptr});
    metrics.OnEnd({nullptr, "client0", 404, nullptr});
  }
  const prometheus::MetricFamily requests = metrics.Collect().at(1);
  EXPECT_EQ(requests.name, "scorecast_client_requests_total");
  EXPECT_EQ(requests.metric.size(), kMaxNamedClients + 1);
  for (const prometheus::ClientMetric& metric : requests.metric) {
    const std::string& client = metric.label.at(1).value;
    const double expected = client == kOtherClients ? 50
                            : client == "client0"   ? 1 + kMaxNamedClients + 50
                                                    : 1;
    EXPECT_EQ(metric.counter.value, expected) << client;
  }
}

TEST(RequestMetrics, DoNotNameThoseWhoAreNotLetIn) {
  RequestMetrics metrics(Endpoints(), /*names_clients=*/true);
  for (int i = 0; i < 150; ++i) {
    metrics.OnEnd({nullptr, "", 401, nullptr});
  }
  metrics.OnEnd({nullptr, "alice", 404, nullptr});
  const prometheus::MetricFamily requests = metrics.Collect().at(1);
  std::map<std::string, double> counts;
  for (const prometheus::ClientMetric& metric : requests.metric) {
    counts[metric.label.at(1).value] = metric.counter.value;
  }
  EXPECT_EQ(counts,
            (std::map<std::string, double>{{std::string(kOtherClients), 150}, {"alice", 1}}));
}

TEST(RequestMetrics, KeepNoAddressUnlessClientsAreNamed) {
  Metrics metrics(Endpoints());
  metrics.requests.OnEnd({nullptr, "10.0.0.1", 404, nullptr});
  metrics.requests.OnEnd({nullptr, "10.0.0.2", 404, nullptr});
  const std::string text = MetricsResource(
                               metrics, [] { return ServiceStatus{}; }, /*page_bytes=*/10)
                               .get()
                               ->body;
  EXPECT_THAT(text, Not(HasSubstr("10.0.0.")));
  EXPECT_THAT(text, Not(HasSubstr("client=")));
  EXPECT_THAT(
      ParsePrometheusText(text)["scorecast_requests_total"].samples,
      UnorderedElementsAre(Pair(R"(scorecast_requests_total{endpoint="none",code="404"})", 2)));
}

TEST(RequestMetrics, HaveTheWaitForIo) {
  CountedServer counted;
  counted.metrics.requests.OnIoWait(std::chrono::milliseconds(0));
  counted.metrics.requests.OnIoWait(std::chrono::milliseconds(1500));
  EXPECT_EQ(counted.Value("scorecast_io_wait_seconds", "scorecast_io_wait_seconds_count"), 2);
  EXPECT_EQ(counted.Value("scorecast_io_wait_seconds", "scorecast_io_wait_seconds_sum"), 1.5);
}

}  // namespace request_metrics_test
}  // namespace scorecast::coordinator
