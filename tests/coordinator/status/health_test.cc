#include "coordinator/status/health.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace health_test {

using nlohmann::json;
using proto::RankState;

proto::ClusterStatus TwoRanks() {
  proto::ClusterStatus cluster;
  cluster.ranks = {{.host = "a", .state = RankState::kComputing},
                   {.host = "b", .state = RankState::kIdle, .seconds_since_heard = 0.2501}};
  return cluster;
}

TEST(Health, IsThatTheProcessServes) {
  const Resource health = HealthResource();
  EXPECT_EQ(health.path, "/health");
  EXPECT_EQ(health.get()->status, 200);
  EXPECT_EQ(json::parse(health.get()->body)["status"], "alive");
}

TEST(Readiness, IsThatAllRanksAreHeard) {
  const ResourceContent content = Readiness(TwoRanks(), /*is_draining=*/false);
  EXPECT_EQ(content.status, 200);
  EXPECT_EQ(content.content_type, "application/json");
  EXPECT_EQ(json::parse(content.body), json::parse(R"({"status": "ready", "ranks": [
      {"rank": 0, "host": "a", "state": "computing", "silent_seconds": 0.0, "late": false},
      {"rank": 1, "host": "b", "state": "idle", "silent_seconds": 0.25, "late": false}]})"));
}

TEST(Readiness, EndsIfARankIsLate) {
  proto::ClusterStatus cluster = TwoRanks();
  cluster.ranks[1].seconds_since_heard = 3;
  EXPECT_EQ(Readiness(cluster, false).status, 200);
  cluster.ranks[1].seconds_since_heard = 4.26;
  const ResourceContent content = Readiness(cluster, false);
  EXPECT_EQ(content.status, 503);
  const json body = json::parse(content.body);
  EXPECT_EQ(body["status"], "not ready");
  EXPECT_EQ(body["reason"], "rank 1 (host b) has been silent for 4.3 s, of at most 3 s");
  EXPECT_EQ(body["ranks"][1]["silent_seconds"], 4.26);
  EXPECT_TRUE(body["ranks"][1]["late"]);
  EXPECT_FALSE(body["ranks"][0]["late"]);
}

TEST(Readiness, NeedsRanksThatHaveStarted) {
  proto::ClusterStatus cluster = TwoRanks();
  cluster.ranks[1].state = RankState::kStarting;
  const ResourceContent content = Readiness(cluster, false);
  EXPECT_EQ(content.status, 503);
  EXPECT_EQ(json::parse(content.body)["reason"], "rank 1 (host b) is starting");
}

TEST(Readiness, EndsWithTheDrain) {
  bool is_draining = false;
  const Resource ready = ReadyResource(TwoRanks, [&] { return is_draining; });
  EXPECT_EQ(ready.path, "/ready");
  EXPECT_EQ(ready.get()->status, 200);
  is_draining = true;
  EXPECT_EQ(ready.get()->status, 503);
  EXPECT_EQ(json::parse(ready.get()->body)["reason"], "the server is shutting down");
}

}  // namespace health_test
}  // namespace scorecast::coordinator
