#include "coordinator/schedule/queue/predicted_wait.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

namespace scorecast::coordinator {
namespace {

/// What a node of the tree gets while one of its children gets a part.
struct Service {
  double seconds = 0;
  double weighted_seconds = 0;

  /// Adds what the child's rivals get meanwhile.
  void Add(std::span<const Rival> rivals) {
    const double own = weighted_seconds;
    for (const Rival& rival : rivals) {
      if (rival.weighted_seconds > 0) {
        const double part = std::clamp((own - rival.ahead) / rival.weighted_seconds, 0.0, 1.0);
        seconds += part * rival.seconds;
        weighted_seconds += part * rival.weighted_seconds;
      }
    }
  }
};

double SecondsOf(std::span<const Rival> rivals) {
  double seconds = 0;
  for (const Rival& rival : rivals) {
    seconds += rival.seconds;
  }
  return seconds;
}

/// Adds a flow to the node that it belongs to.
void Add(const FlowBacklog& flow, double ahead, Rival& node) {
  node.seconds += flow.seconds;
  node.weighted_seconds += flow.seconds / flow.weight;
  node.ahead = ahead;
}

}  // namespace

QueueForecast ForecastOf(const FairPath& path, const FairTags& tags,
                         std::span<const FlowBacklog> backlogs) {
  QueueForecast forecast;
  std::map<std::string_view, Rival> networks;
  std::map<std::string_view, Rival> addresses;
  std::map<std::uint64_t, Rival> connections;
  for (const FlowBacklog& flow : backlogs) {
    const ClientId& client = flow.path.client;
    if (client.network != path.client.network) {
      Add(flow, flow.tags.network - tags.network, networks[client.network]);
    } else if (client.address != path.client.address) {
      Add(flow, flow.tags.address - tags.address, addresses[client.address]);
    } else if (client.connection != path.client.connection) {
      Add(flow, flow.tags.connection - tags.connection, connections[client.connection]);
    } else if (flow.path != path) {
      Add(flow, flow.tags.flow - tags.flow, forecast.flows.emplace_back());
    } else {
      forecast.own_seconds = flow.seconds;
    }
  }
  for (const auto& [network, rival] : networks) {
    forecast.networks.push_back(rival);
  }
  for (const auto& [address, rival] : addresses) {
    forecast.addresses.push_back(rival);
  }
  for (const auto& [connection, rival] : connections) {
    forecast.connections.push_back(rival);
  }
  return forecast;
}

double SecondsUntilServed(const QueueForecast& queue, double weight, double own) {
  Service service{own, own / weight};
  service.Add(queue.flows);
  service.Add(queue.connections);
  service.Add(queue.addresses);
  service.Add(queue.networks);
  return queue.pass_seconds + service.seconds / queue.speed;
}

double WaitingSeconds(const QueueForecast& queue) {
  return queue.own_seconds + SecondsOf(queue.flows) + SecondsOf(queue.connections) +
         SecondsOf(queue.addresses) + SecondsOf(queue.networks);
}

PredictedWait PredictWait(const QueueForecast& queue, const JobForecast& job) {
  const double first = std::min(job.first_seconds, job.seconds);
  return {
      .begin =
          SecondsUntilServed(queue, job.weight, queue.own_seconds + first) - first / queue.speed,
      .end = SecondsUntilServed(queue, job.weight, queue.own_seconds + job.seconds),
  };
}

}  // namespace scorecast::coordinator
