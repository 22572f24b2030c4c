// The status of a service as metrics.

#include "coordinator/metrics/metrics.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/metrics/prometheus_text.h"

namespace scorecast::coordinator {
namespace metrics_test {

using scorecast::testing::ParsePrometheusText;

ServiceStatus FullStatus() {
  ServiceStatus status;
  status.scheduler.waiting_jobs = 3;
  status.scheduler.running_jobs = 4;
  status.scheduler.waiting_tokens = 1210;
  status.scheduler.waiting_bytes = 5000;
  status.scheduler.oldest_wait_seconds = 1.5;
  status.scheduler.predicted_seconds = 2.5;
  status.scheduler.pass_times = {.rates = {.overhead = 0.5,
                                           .row = 0.25,
                                           .key = 0.125,
                                           .read = 0.0625,
                                           .label = 0.5e-3,
                                           .product = 0.25e-3,
                                           .top = 0.125e-3},
                                 .bound_seconds = 10,
                                 .error = 0.03125};
  status.scheduler.running_completions = 2;
  status.scheduler.cache = {
      .asked_tokens = 30, .hit_tokens = 20, .evicted_pages = 7, .cached_pages = 5};
  status.scheduler.kv_pages = 40;
  status.scheduler.held_kv_pages = 10;
  status.clients = ClientsStatus{.connections = 17,
                                 .addresses = 2,
                                 .requests_in_flight = 19,
                                 .held_request_bytes = 100'000,
                                 .held_reply_bytes = 200,
                                 .refusals = {{"queue_full", 4}, {"draining", 1}}};
  proto::RankStatus rank;
  rank.host = "a";
  rank.work.compute_seconds = 12;
  rank.work.of(proto::RankOperation::kExchange) = {1000, 0.5};
  rank.work.of(proto::RankOperation::kShare) = {2000, 0.25};
  rank.work.of(proto::RankOperation::kGather) = {10, 0.125};
  status.cluster.ranks = {rank, {.host = "b", .seconds_since_heard = 0.25}};
  return status;
}

TEST(Metrics, HaveTheStatusOfAService) {
  const Metrics metrics(Endpoints());
  const SharedContent content =
      MetricsResource(metrics, FullStatus, /*page_bytes=*/1'000'000).get();
  EXPECT_EQ(content->status, 200);
  EXPECT_EQ(content->content_type, "text/plain; version=0.0.4; charset=utf-8");
  const auto families = ParsePrometheusText(content->body);
  const auto value = [&](const std::string& name, const std::string& labels = "") {
    return families.at(name).samples.at(name + labels);
  };
  EXPECT_EQ(value("scorecast_queue_requests"), 3);
  EXPECT_EQ(value("scorecast_queue_tokens"), 1210);
  EXPECT_EQ(value("scorecast_queue_bytes"), 5000);
  EXPECT_EQ(value("scorecast_queue_oldest_seconds"), 1.5);
  EXPECT_EQ(value("scorecast_queue_predicted_seconds"), 2.5);
  EXPECT_EQ(value("scorecast_running_requests"), 4);
  EXPECT_EQ(value("scorecast_running_completions"), 2);
  EXPECT_EQ(value("scorecast_predicted_pass_seconds", "{of=\"pass\"}"), 0.5);
  EXPECT_EQ(value("scorecast_predicted_pass_seconds", "{of=\"row\"}"), 0.25);
  EXPECT_EQ(value("scorecast_predicted_pass_seconds", "{of=\"key\"}"), 0.125);
  EXPECT_EQ(value("scorecast_predicted_pass_seconds", "{of=\"read\"}"), 0.0625);
  EXPECT_EQ(value("scorecast_predicted_pass_seconds", "{of=\"label\"}"), 0.5e-3);
  EXPECT_EQ(value("scorecast_predicted_pass_seconds", "{of=\"product\"}"), 0.25e-3);
  EXPECT_EQ(value("scorecast_predicted_pass_seconds", "{of=\"top\"}"), 0.125e-3);
  EXPECT_EQ(value("scorecast_prediction_error"), 0.03125);
  EXPECT_EQ(value("scorecast_pass_bound_seconds"), 10);
  EXPECT_EQ(value("scorecast_kv_pages"), 40);
  EXPECT_EQ(value("scorecast_kv_usage"), 0.25);
  EXPECT_EQ(value("scorecast_cache_lookup_tokens_total"), 30);
  EXPECT_EQ(value("scorecast_cache_hit_tokens_total"), 20);
  EXPECT_EQ(value("scorecast_cache_evicted_pages_total"), 7);
  EXPECT_EQ(value("scorecast_cache_pages"), 5);
  EXPECT_EQ(value("scorecast_cache_bytes"), 5'000'000);
  EXPECT_EQ(value("scorecast_rank_compute_seconds_total", "{rank=\"0\"}"), 12);
  EXPECT_EQ(value("scorecast_rank_wait_seconds_total", "{rank=\"0\"}"), 0.875);
  EXPECT_EQ(value("scorecast_rank_wait_seconds_total", "{rank=\"1\"}"), 0);
  EXPECT_EQ(value("scorecast_rank_received_bytes_total", "{rank=\"0\",operation=\"share\"}"), 2000);
  EXPECT_EQ(value("scorecast_rank_operation_seconds_total", "{rank=\"0\",operation=\"exchange\"}"),
            0.5);
  EXPECT_EQ(value("scorecast_rank_silence_seconds", "{rank=\"1\"}"), 0.25);
  EXPECT_EQ(value("scorecast_connections"), 17);
  EXPECT_EQ(value("scorecast_client_addresses"), 2);
  EXPECT_EQ(value("scorecast_requests_in_flight"), 19);
  EXPECT_EQ(value("scorecast_held_bytes", "{of=\"requests\"}"), 100'000);
  EXPECT_EQ(value("scorecast_held_bytes", "{of=\"replies\"}"), 200);
  EXPECT_EQ(value("scorecast_refusals_total", "{reason=\"queue_full\"}"), 4);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("scorecast_heap_bytes"), 1e4);
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  // The time of the boot is known to a second, and the test is not older than a day.
  EXPECT_LT(value("process_start_time_seconds"), now.count() + 2);
  EXPECT_GT(value("process_start_time_seconds"), now.count() - 86'400);
}

TEST(Metrics, AModelWithoutPagesUsesNoneOfThem) { EXPECT_EQ(SchedulerStatus().kv_usage(), 0); }

TEST(Metrics, SayWhichBuildRuns) {
  const Metrics metrics(Endpoints(), /*names_clients=*/false, {"1.2", "ab12", "g++ 12", "MPI 4"});
  const auto families =
      ParsePrometheusText(MetricsResource(metrics, FullStatus, /*page_bytes=*/1).get()->body);
  EXPECT_EQ(families.at("scorecast_build_info")
                .samples.at("scorecast_build_info{version=\"1.2\",build_id=\"ab12\","
                            "compiler=\"g++ 12\",mpi=\"MPI 4\"}"),
            1);
}

TEST(Metrics, AreCollectedAtMostTenTimesASecond) {
  const Metrics metrics(Endpoints());
  Clock::time_point now;
  int collected = 0;
  const Resource resource = MetricsResource(
      metrics,
      [&] {
        ++collected;
        return FullStatus();
      },
      /*page_bytes=*/1, [&] { return now; });
  const SharedContent first = resource.get();
  now += std::chrono::milliseconds(99);
  EXPECT_EQ(resource.get(), first) << "Shared, not only equal.";
  EXPECT_EQ(collected, 1);
  now += std::chrono::milliseconds(1);
  EXPECT_NE(resource.get(), first);
  EXPECT_EQ(collected, 2);
  for (int i = 0; i < 1000; ++i) {
    now += std::chrono::milliseconds(1);
    resource.get();
  }
  EXPECT_EQ(collected, 12);
}

TEST(Metrics, EscapeWhatClientsSend) {
  Metrics metrics(Endpoints(), /*names_clients=*/true);
  metrics.requests.OnEnd({nullptr, "a\"b\\c\nd", 400, nullptr});
  const auto families = ParsePrometheusText(MetricsResource(metrics, FullStatus, 1).get()->body);
  EXPECT_EQ(families.at("scorecast_client_requests_total").samples.size(), 1U);
}

TEST(ProcessMemory, IsThatOfThisProcess) {
  const ProcessMemory memory = MemoryOfThisProcess();
  EXPECT_GT(memory.resident, 1 << 20);
  EXPECT_GE(memory.virtual_size, memory.resident);
}

TEST(ProcessMemory, HasWhatIsAllocatedAndNotFreed) {
  constexpr std::size_t kBlockBytes = 64 << 20;
  const std::int64_t before = MemoryOfThisProcess().heap;
  auto block = std::make_unique<std::vector<char>>(kBlockBytes);
  EXPECT_GE(MemoryOfThisProcess().heap - before, std::int64_t{kBlockBytes});
  block.reset();
  EXPECT_LT(MemoryOfThisProcess().heap - before, std::int64_t{kBlockBytes} / 2);
}

}  // namespace metrics_test
}  // namespace scorecast::coordinator
