#include "coordinator/status/service_status.h"

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

}  // namespace service_status_test
}  // namespace scorecast::coordinator
