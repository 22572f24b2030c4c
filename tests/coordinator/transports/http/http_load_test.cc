// Replies have the load of the server if their requests ask for it, as Envoy and others read it.

#include <string>

#include <gtest/gtest.h>

#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_load_test {

using nlohmann::json;

constexpr const char* kText =
    "TEXT application_utilization=0.25,rps_fractional=12.5,named_metrics.queue_requests=3,"
    "named_metrics.queue_predicted_seconds=0.001,named_metrics.running_requests=2,"
    "named_metrics.kv_usage=0.75";

HttpOptions WithLoad() {
  HttpOptions options;
  options.load = [] {
    return ServiceLoad{.requests_per_second = 12.5,
                       .busy = 0.25,
                       .waiting_requests = 3,
                       .running_requests = 2,
                       .predicted_seconds = 0.001,
                       .kv_usage = 0.75};
  };
  options.web.resources = {{"/state", [] { return Share({200, "text/plain", "a state"}); }}};
  return options;
}

std::string LoadOf(const HttpReply& reply) { return reply.Field("endpoint-load-metrics"); }

std::string Asking(const std::string& format) {
  return "endpoint-load-metrics-format: " + format + "\r\n";
}

TEST(HttpLoad, IsInTheFormatThatTheRequestAsksFor) {
  const FakeHttpServer server({}, WithLoad());
  EXPECT_EQ(LoadOf(server.Call(ScorePost(1, Asking("TEXT")))), kText);
  EXPECT_EQ(LoadOf(server.Call(ScorePost(1, Asking("text")))), kText);
  const HttpReply reply = server.Call(ScorePost(1, Asking("JSON")));
  EXPECT_EQ(reply.status, 200);
  const std::string load = LoadOf(reply);
  ASSERT_EQ(load.substr(0, 5), "JSON ");
  EXPECT_EQ(json::parse(load.substr(5)), json({{"application_utilization", 0.25},
                                               {"rps_fractional", 12.5},
                                               {"named_metrics",
                                                {{"queue_requests", 3},
                                                 {"queue_predicted_seconds", 0.001},
                                                 {"running_requests", 2},
                                                 {"kv_usage", 0.75}}}}));
}

TEST(HttpLoad, OtherRequestsDoNotGetIt) {
  const FakeHttpServer server({}, WithLoad());
  for (const std::string& fields : {std::string(), Asking("BIN"), Asking(""), Asking("TEXT, JSON"),
                                    std::string("endpoint-load-metrics: TEXT\r\n")}) {
    const HttpReply reply = server.Call(ScorePost(1, fields));
    EXPECT_EQ(reply.status, 200) << fields;
    EXPECT_FALSE(reply.fields.contains("endpoint-load-metrics")) << fields;
  }
  EXPECT_EQ(LoadOf(server.Call(Get("/state", Asking("TEXT")))), "") << "no endpoint";
  const FakeHttpServer without_load;
  EXPECT_EQ(LoadOf(without_load.Call(ScorePost(1, Asking("TEXT")))), "");
}

TEST(HttpLoad, ErrorsAndStreamsHaveItToo) {
  const FakeHttpServer server({}, WithLoad());
  const HttpReply error = server.Call(Post("/v1/score", "{}", Asking("TEXT")));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(LoadOf(error), kText);
  const HttpReply stream = server.Call(Post("/v1/chunked", StreamBody(3).dump(), Asking("TEXT")));
  EXPECT_EQ(stream.Field("content-type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(LoadOf(stream), kText);
}

TEST(HttpLoad, IsOnlyForClientsThatAreLetIn) {
  const KeysFile file(KeysFile::Alice());
  SocketOptions options;
  options.keys = file.Read();
  const FakeHttpServer server(options, WithLoad());
  const HttpReply stranger = server.Call(ScorePost(1, Asking("TEXT")));
  EXPECT_EQ(stranger.status, 401);
  EXPECT_FALSE(stranger.fields.contains("endpoint-load-metrics"));
  const std::string key = "Authorization: Bearer " + std::string(kAlice) + "\r\n";
  EXPECT_EQ(LoadOf(server.Call(ScorePost(1, key + Asking("TEXT")))), kText);
}

}  // namespace http_load_test
}  // namespace scorecast::coordinator
