#include "coordinator/front/clients/front_resources.h"

#include <utility>

#include <nlohmann/json.hpp>
#include <prometheus/text_serializer.h>

#include "coordinator/metrics/families.h"
#include "coordinator/status/health.h"

namespace scorecast::coordinator {
namespace {

using Json = nlohmann::ordered_json;

ResourceContent Readiness(const FrontStatus& status, bool is_draining) {
  const bool is_ready = status.is_ready() && !is_draining;
  Json body = {{"status", is_ready ? "ready" : "not ready"}};
  if (!is_ready) {
    body["reason"] = is_draining ? "the front is shutting down" : "no replica is ready";
  }
  Json& replicas = body["replicas"] = Json::array();
  for (const ReplicaStatus& replica : status.replicas) {
    replicas.push_back({{"name", replica.name},
                        {"model", replica.model},
                        {"connected", replica.is_connected},
                        {"ready", replica.is_ready},
                        {"drained", replica.is_drained},
                        {"set_aside", replica.is_set_aside}});
  }
  return {is_ready ? 200 : 503, "application/json", body.dump()};
}

ResourceContent Models(const FrontStatus& status, std::time_t created) {
  Json body = {{"object", "list"}, {"data", Json::array()}};
  for (const std::string& model : status.models) {
    body["data"].push_back(
        {{"id", model}, {"object", "model"}, {"created", created}, {"owned_by", "scorecast"}});
  }
  return {.body = body.dump()};
}

/// A gauge or a counter of each replica.
template <typename Value>
void AddOfReplicas(const FrontStatus& status, prometheus::MetricFamily family, const Value& value,
                   Families& families) {
  for (const ReplicaStatus& replica : status.replicas) {
    AddValue(family, {{"replica", replica.name}}, static_cast<double>(value(replica)));
  }
  families.push_back(std::move(family));
}

Families FamiliesOf(const FrontStatus& status, const std::string& version) {
  Families families;
  AddOfReplicas(
      status, GaugeFamily("scorecast_front_replica_connected", "1 if the replica is connected."),
      [](const ReplicaStatus& replica) { return replica.is_connected; }, families);
  AddOfReplicas(
      status, GaugeFamily("scorecast_front_replica_ready", "1 if the replica gets requests."),
      [](const ReplicaStatus& replica) { return replica.is_ready; }, families);
  AddOfReplicas(
      status,
      GaugeFamily("scorecast_front_replica_drained",
                  "1 if the replica gets no requests because of `scorecast front drain`."),
      [](const ReplicaStatus& replica) { return replica.is_drained; }, families);
  AddOfReplicas(
      status,
      GaugeFamily("scorecast_front_replica_waiting_seconds",
                  "Predicted seconds of the work that waits at the replica."),
      [](const ReplicaStatus& replica) { return replica.wait_seconds; }, families);
  AddOfReplicas(
      status,
      GaugeFamily("scorecast_front_replica_requests_in_flight",
                  "Requests that the replica was sent and has not answered."),
      [](const ReplicaStatus& replica) { return replica.in_flight; }, families);
  AddOfReplicas(
      status,
      CounterFamily("scorecast_front_replica_losses_total",
                    "How often the connection of the replica was lost."),
      [](const ReplicaStatus& replica) { return replica.losses; }, families);
  AddOfReplicas(
      status,
      GaugeFamily("scorecast_front_replica_set_aside",
                  "1 if the replica gets no requests for a while, because of a bad reply."),
      [](const ReplicaStatus& replica) { return replica.is_set_aside; }, families);
  AddOfReplicas(
      status,
      CounterFamily("scorecast_front_replica_bad_replies_total",
                    "Replies of the replica that no service gives."),
      [](const ReplicaStatus& replica) { return replica.bad_replies; }, families);
  prometheus::MetricFamily requests =
      GaugeFamily("scorecast_front_waiting_requests", "Requests that wait in the front, by model.");
  prometheus::MetricFamily seconds =
      GaugeFamily("scorecast_front_waiting_seconds",
                  "Predicted seconds of the requests that wait in the front, by model.");
  for (const std::string& model : status.models) {
    const auto found = status.waiting.find(model);
    const WaitingInFront waiting = found == status.waiting.end() ? WaitingInFront() : found->second;
    AddValue(requests, {{"model", model}}, static_cast<double>(waiting.requests));
    AddValue(seconds, {{"model", model}}, waiting.seconds);
  }
  families.push_back(std::move(requests));
  families.push_back(std::move(seconds));
  families.push_back(Gauge("scorecast_front_requests_in_flight",
                           "Requests whose replies have not ended.",
                           static_cast<double>(status.in_flight)));
  prometheus::MetricFamily build =
      GaugeFamily("scorecast_build_info", "1; its labels say which build of scorecast runs.");
  AddValue(build, {{"version", version}}, 1);
  families.push_back(std::move(build));
  return families;
}

}  // namespace

std::vector<Resource> FrontResources(const FrontResourceOptions& options) {
  const auto status = options.status;
  Resource root = HealthResource();
  root.path = "/";
  return {
      HealthResource(),
      PingResource(),
      std::move(root),
      {"/ready",
       [status, is_draining = options.is_draining] {
         return Share(Readiness(status(), is_draining()));
       },
       "A replica is ready.", /*is_state=*/true, /*is_open=*/true},
      {"/metrics",
       [status, version = options.version] {
         return Share(
             {.content_type = "text/plain; version=0.0.4; charset=utf-8",
              .body = prometheus::TextSerializer().Serialize(FamiliesOf(status(), version))});
       },
       "Metrics for Prometheus.", /*is_state=*/true, options.open_metrics},
      {"/v1/models",
       [status, created = options.created] { return Share(Models(status(), created)); },
       "The models of all replicas."},
  };
}

}  // namespace scorecast::coordinator
