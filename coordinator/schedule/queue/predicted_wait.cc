#include "coordinator/schedule/queue/predicted_wait.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
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
  void Add(std::span<const Rival> all, Rivals rivals) {
    const double most = rivals == Rivals::kEnd ? 1 : std::numeric_limits<double>::infinity();
    const double own = weighted_seconds;
    for (const Rival& rival : all) {
      if (rival.weighted_seconds > 0) {
        const double part = std::clamp((own - rival.ahead) / rival.weighted_seconds, 0.0, most);
        seconds += part * rival.seconds;
        weighted_seconds += part * rival.weighted_seconds;
      }
    }
  }
};

double WithRivals(const QueueForecast& queue, double weight, double own, Rivals rivals,
                  std::initializer_list<std::span<const Rival>> levels) {
  Service service{own, own / weight};
  for (const std::span<const Rival> level : levels) {
    service.Add(level, rivals);
  }
  return queue.pass_seconds + service.seconds / queue.speed;
}

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

double FirstSeconds(const JobForecast& job) { return std::min(job.first_seconds, job.seconds); }

/// Seconds after which `own` seconds of a job are served within `longest` seconds.
double SecondsUntilServedWithin(const QueueForecast& queue, double weight, double own,
                                double longest) {
  constexpr int kSteps = 40;  // Of a bisection.
  const auto until = [&](double waiting) {
    return SecondsUntilServed(queue, weight, waiting + own, Rivals::kEnd);
  };
  const double beyond = until(0) - longest;
  double low = 0;  // What may wait before the job.
  double high = queue.own_seconds;
  for (int i = 0; i < kSteps && beyond < 0; ++i) {
    const double middle = (low + high) / 2;
    (until(middle) <= longest ? low : high) = middle;
  }
  return SecondsUntilServed(queue, weight, queue.own_seconds - low, Rivals::kGoOn) +
         std::max(beyond, 0.0);
}

}  // namespace

QueueForecast ForecastOf(const FairPath& path, const FairTags& tags,
                         std::span<const FlowBacklog> backlogs) {
  const auto [address_tag, connection_tag, flow_tag] = tags;
  QueueForecast forecast;
  std::map<std::string_view, Rival> addresses;
  std::map<std::uint64_t, Rival> connections;
  for (const FlowBacklog& flow : backlogs) {
    const ClientId& client = flow.path.client;
    if (client.address != path.client.address) {
      Add(flow, flow.tags[0] - address_tag, addresses[client.address]);
    } else if (client.connection != path.client.connection) {
      Add(flow, flow.tags[1] - connection_tag, connections[client.connection]);
    } else if (flow.path != path) {
      Add(flow, flow.tags[2] - flow_tag, forecast.flows.emplace_back());
    } else {
      forecast.own_seconds = flow.seconds;
    }
  }
  for (const auto& [address, rival] : addresses) {
    forecast.addresses.push_back(rival);
  }
  for (const auto& [connection, rival] : connections) {
    forecast.connections.push_back(rival);
  }
  return forecast;
}

double SecondsUntilServed(const QueueForecast& queue, double weight, double own, Rivals rivals) {
  return WithRivals(queue, weight, own, rivals, {queue.flows, queue.connections, queue.addresses});
}

double SecondsUntilAddressServed(const QueueForecast& queue, double weight, double own,
                                 Rivals rivals) {
  return WithRivals(queue, weight, own, rivals, {queue.addresses});
}

double WaitingSeconds(const QueueForecast& queue) {
  return queue.own_seconds + SecondsOf(queue.flows) + SecondsOf(queue.connections) +
         SecondsOf(queue.addresses);
}

PredictedWait PredictWait(const QueueForecast& queue, const JobForecast& job) {
  const double first = FirstSeconds(job);
  return {
      .begin = SecondsUntilServed(queue, job.weight, queue.own_seconds + first, Rivals::kEnd) -
               first / queue.speed,
      .end = SecondsUntilServed(queue, job.weight, queue.own_seconds + job.seconds, Rivals::kEnd),
  };
}

double SecondsUntilItBeginsWithin(const QueueForecast& queue, const JobForecast& job,
                                  double longest) {
  const double first = FirstSeconds(job);
  return SecondsUntilServedWithin(queue, job.weight, first, longest + first / queue.speed);
}

double SecondsUntilItEndsWithin(const QueueForecast& queue, const JobForecast& job,
                                double longest) {
  return SecondsUntilServedWithin(queue, job.weight, job.seconds, longest);
}

}  // namespace scorecast::coordinator
