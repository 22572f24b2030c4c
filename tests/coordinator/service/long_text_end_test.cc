// A text that is computed in steps ends at its deadline, between two steps.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/service/request_service.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/schedule/queue/sum_cluster.h"

namespace scorecast::coordinator {
namespace long_text_end_test {

/// A server of embeddings with one value, the sum of a text's ids. A row takes 1 ms, and a pass at
/// most 40 ms.
struct SumServer {
  static proto::ModelConfig Config() {
    proto::ModelConfig config;
    config.architecture = "BertModel";
    config.hidden_size = 1;
    config.vocab_size = 100;
    config.max_position_embeddings = 1000;
    config.bidirectional = true;
    config.read_head.emplace();
    config.read_head->pooling = {proto::Pooling::kMean};
    config.read_head->output_size = 1;
    return config;
  }

  /// Begins to embed `rows` times the same id.
  std::shared_ptr<AskingCall> Embed(int rows, int id, int timeout_ms) {
    const nlohmann::json body = {{"input", std::vector<int>(static_cast<std::size_t>(rows), id)},
                                 {"timeout_ms", timeout_ms}};
    auto call = std::make_shared<AskingCall>();
    const Endpoint& endpoint = *service.FindByUrl("/v1/embeddings");
    Begin(service, endpoint, endpoint.FromJson(body), call);
    return call;
  }
  /// The id of the text whose step is in flight; 0 if there is none.
  int InFlight() const {
    return cluster.is_idle() || !cluster.next().step ? 0 : cluster.next().tokens.at(0);
  }

  const proto::ModelConfig config = Config();
  const ServerOptions options;
  std::atomic<Clock::duration> passed = Clock::duration::zero();
  SumCluster cluster;
  Scheduler scheduler{cluster,
                      {.max_pass_seconds = 0.04, .time_model = PassTimeModel({.row = 1e-3})}};
  RequestService service{config,    nullptr,     options,
                         scheduler, Endpoints(), [this] { return Clock::now() + passed.load(); }};
};

TEST(LongTextEnd, TheDeadlineMakesRoomForTheNextText) {
  SumServer server;
  const auto late = server.Embed(800, 1, /*timeout_ms=*/60'000);
  const auto next = server.Embed(700, 2, /*timeout_ms=*/3'600'000);
  server.cluster.ComputeNext();
  server.cluster.ComputeNext();
  ASSERT_EQ(server.InFlight(), 1);
  server.passed = std::chrono::minutes(2);
  server.service.deadlines().ReadClock();
  const auto error = late->Wait().Respond();
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code, 504);
  EXPECT_EQ(error.error().reason, "deadline_passed");
  EXPECT_EQ(error.error().param, "timeout_ms");
  EXPECT_EQ(late->replies().bytes(), 0);

  server.cluster.ComputeNext();  // The step that was in flight is the last one of the late text.
  while (!server.cluster.is_idle()) {
    ASSERT_EQ(server.InFlight(), 2);
    server.cluster.ComputeNext();
  }
  const auto response = next->Wait().Respond();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(JsonOf(**response)["data"][0]["embedding"][0], 1400);
  server.scheduler.WaitIdle();
}

}  // namespace long_text_end_test
}  // namespace scorecast::coordinator
