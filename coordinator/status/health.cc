#include "coordinator/status/health.h"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLateSeconds = std::chrono::duration<double>(kLateAfter).count();

/// Why the rank cannot compute now; empty if it can.
std::string Obstacle(std::size_t rank, const proto::RankStatus& status) {
  const std::string name = "rank " + std::to_string(rank) + " (host " + status.host + ") ";
  if (status.seconds_since_heard > kLateSeconds) {
    char text[64];
    std::snprintf(text, sizeof(text), "has been silent for %.1f s, of at most %.0f s",
                  status.seconds_since_heard, kLateSeconds);
    return name + text;
  }
  return status.state == proto::RankState::kStarting ? name + "is starting" : "";
}

/// Empty if the service is ready.
std::string WhyNotReady(const proto::ClusterStatus& cluster, bool is_draining) {
  std::string reason = is_draining ? "the server is shutting down" : "";
  for (std::size_t r = 0; r < cluster.ranks.size(); ++r) {
    const std::string obstacle = Obstacle(r, cluster.ranks[r]);
    if (!obstacle.empty()) {
      reason += (reason.empty() ? "" : "; ") + obstacle;
    }
  }
  return reason;
}

Json JsonOf(std::size_t rank, const proto::RankStatus& status) {
  return {{"rank", rank},
          {"host", status.host},
          {"state", proto::Name(status.state)},
          {"silent_seconds", std::round(status.seconds_since_heard * 1000) / 1000},
          {"late", status.seconds_since_heard > kLateSeconds}};
}

}  // namespace

ResourceContent Readiness(const proto::ClusterStatus& cluster, bool is_draining) {
  const std::string reason = WhyNotReady(cluster, is_draining);
  Json body = {{"status", reason.empty() ? "ready" : "not ready"}};
  if (!reason.empty()) {
    body["reason"] = reason;
  }
  Json& ranks = body["ranks"] = Json::array();
  for (std::size_t r = 0; r < cluster.ranks.size(); ++r) {
    ranks.push_back(JsonOf(r, cluster.ranks[r]));
  }
  return {reason.empty() ? 200 : 503, "application/json", body.dump()};
}

bool IsReady(const proto::ClusterStatus& cluster, bool is_draining) {
  return WhyNotReady(cluster, is_draining).empty();
}

namespace {

Resource AliveResource(std::string path) {
  return {std::move(path), [content = Share({.body = R"({"status":"alive"})"})] { return content; },
          "The process is alive.", /*is_state=*/true, /*is_open=*/true};
}

}  // namespace

Resource HealthResource() { return AliveResource("/health"); }

Resource PingResource() { return AliveResource("/ping"); }

Resource ReadyResource(std::function<proto::ClusterStatus()> cluster,
                       std::function<bool()> is_draining) {
  return {"/ready",
          [cluster = std::move(cluster), is_draining = std::move(is_draining)] {
            return Share(Readiness(cluster(), is_draining()));
          },
          "The model is loaded, and every rank is there.", /*is_state=*/true, /*is_open=*/true};
}

}  // namespace scorecast::coordinator
