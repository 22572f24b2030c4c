#include "coordinator/status/service_status.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace service_status_test {

using ::testing::ElementsAre;

TEST(ServiceStatus, HasALineOnEachPart) {
  ServiceStatus status;
  status.scheduler.passes = 12;
  status.scheduler.last_pass_rows = 640;
  status.scheduler.waiting_jobs = 3;
  status.scheduler.waiting_tokens = 1210;
  status.scheduler.running_completions = 2;
  status.scheduler.bytes = 400'000;
  status.scheduler.predicted_seconds = 3.4;
  status.scheduler.pass_times = {
      .rates = {.overhead = 1.2e-3, .row = 2e-3}, .bound_seconds = 0.2, .error = 0.043};
  status.scheduler.cache = {.asked_tokens = 30, .hit_tokens = 20, .cached_pages = 5};
  status.clients = ClientsStatus{.connections = 17,
                                 .addresses = 2,
                                 .requests_in_flight = 19,
                                 .held_request_bytes = 100'000,
                                 .held_reply_bytes = 0,
                                 .refusals = {{"queue_full", 4}, {"draining", 1}}};
  status.cluster.ranks = {{.host = "a",
                           .state = proto::RankState::kComputing,
                           .pass = 13,
                           .step = 36,
                           .cpu_share = 0.994},
                          {.host = "b", .seconds_since_heard = 0.12}};
  EXPECT_THAT(
      LinesOf(status),
      ElementsAre(
          "status: 12 passes done, the last of 640 rows; queue: 3 requests, 1210 tokens, 2 "
          "running completions; 0.4 MB held; cache: 5 pages, 20 of 30 tokens found",
          "status: 500 rows/s, 1.2 ms of overhead a pass, bound 200 ms; predictions are off "
          "by 4 %; 3.40 s of work wait",
          "status: 17 connections from 2 addresses, 19 requests in flight; 0.1 MB of "
          "requests and 0.0 MB of replies held; refused: draining 1 queue_full 4",
          "status: rank 0 (host a): computing, pass 13, step 36, 99 % of a CPU, heard 0.0 "
          "s ago",
          "status: rank 1 (host b): starting, heard 0.1 s ago"));
}

TEST(ServiceStatus, NamesNoOverheadThatIsNotPositive) {
  for (const double overhead : {-0.8e-3, -1e-6, 0.0, 0.04e-3}) {
    EXPECT_EQ(TextOf({.rates = {.overhead = overhead, .row = 2e-3}, .bound_seconds = 0.2}),
              "500 rows/s, no overhead a pass, bound 200 ms")
        << overhead;
  }
  EXPECT_EQ(TextOf({.rates = {.overhead = 0.06e-3, .row = 2e-3}, .bound_seconds = 0.2}),
            "500 rows/s, 0.1 ms of overhead a pass, bound 200 ms");
}

TEST(ServiceStatus, CountsAgreeWithTheirNouns) {
  ServiceStatus status;
  status.scheduler.passes = 1;
  status.scheduler.last_pass_rows = 1;
  status.scheduler.waiting_jobs = 1;
  status.scheduler.waiting_tokens = 1;
  status.scheduler.running_completions = 1;
  status.scheduler.cache = {.asked_tokens = 1, .hit_tokens = 0, .cached_pages = 1};
  status.clients = ClientsStatus{.connections = 1, .addresses = 1, .requests_in_flight = 1};
  EXPECT_THAT(LinesOf(status),
              ElementsAre("status: 1 pass done, the last of 1 row; queue: 1 request, 1 token, 1 "
                          "running completion; 0.0 MB held; cache: 1 page, 0 of 1 token found",
                          ::testing::_,
                          "status: 1 connection from 1 address, 1 request in flight; 0.0 MB of "
                          "requests and 0.0 MB of replies held; refused: none"));
}

TEST(ServiceStatus, OfABatchHasNoClients) {
  EXPECT_THAT(LinesOf({}), ElementsAre(::testing::HasSubstr("status: 0 passes done"),
                                       ::testing::HasSubstr("no bound")));
}

proto::ClusterStatus Computed(const std::vector<double>& compute_seconds) {
  proto::ClusterStatus status;
  for (const double seconds : compute_seconds) {
    proto::RankStatus& rank = status.ranks.emplace_back();
    rank.host = "h" + std::to_string(status.ranks.size() - 1);
    rank.work.compute_seconds = seconds;
  }
  return status;
}

TEST(LaggingRank, IsNamedIfItComputesLongerThanTheOthers) {
  EXPECT_EQ(LaggingRank(Computed({10, 10, 10}), Computed({14, 14, 16})),
            "rank 2 (host h2) is the slowest: it computed 50 % longer than the others on average, "
            "which waited for it");
  EXPECT_EQ(LaggingRank(Computed({0, 0}), Computed({8, 2}))->substr(0, 15), "rank 0 (host h0");
}

TEST(LaggingRank, ThereIsNoneIfRanksAreAlikeOrIdle) {
  EXPECT_FALSE(LaggingRank(Computed({0, 0, 0}), Computed({4, 5, 4.9})));
  EXPECT_FALSE(LaggingRank(Computed({50, 10}), Computed({55, 14.5})))
      << "what was before does not count";
  EXPECT_FALSE(LaggingRank(Computed({0, 0}), Computed({0.9, 0.1}))) << "too little to tell";
  EXPECT_FALSE(LaggingRank(Computed({0}), Computed({9}))) << "alone";
  EXPECT_FALSE(LaggingRank(Computed({}), Computed({9, 1})));
}

TEST(LaggingRank, IsPartOfTheStatus) {
  ServiceStatus status;
  status.cluster = Computed({14, 18});
  EXPECT_EQ(LinesOf(status, Computed({10, 10})).back(),
            "status: rank 1 (host h1) is the slowest: it computed 100 % longer than the others on "
            "average, which waited for it");
  EXPECT_EQ(LinesOf(status, status.cluster).size(), 4U);
}

}  // namespace service_status_test
}  // namespace scorecast::coordinator
