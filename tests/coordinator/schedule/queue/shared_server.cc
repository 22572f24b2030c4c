#include "tests/coordinator/schedule/queue/shared_server.h"

#include <algorithm>
#include <chrono>

namespace scorecast::coordinator {
namespace {

/// The element with the smallest tag.
template <typename Nodes>
auto Next(Nodes& nodes) {
  return std::min_element(nodes.begin(), nodes.end(),
                          [](const auto& a, const auto& b) { return a.second.tag < b.second.tag; });
}

template <typename Nodes>
double SmallestTag(const Nodes& nodes) {
  return nodes.empty() ? 0 : Next(nodes)->second.tag;
}

/// The node of the key, which begins at the smallest tag of the others.
template <typename Nodes, typename Key>
auto& NodeOf(Nodes& nodes, const Key& key) {
  if (const auto found = nodes.find(key); found != nodes.end()) {
    return found->second;
  }
  const double tag = SmallestTag(nodes);
  auto& node = nodes[key];
  node.tag = tag;
  return node;
}

template <typename Connection>
Rival RivalOf(const Connection& connection) {
  Rival rival;
  for (const auto& job : connection.jobs) {
    rival.seconds += job.seconds;
    rival.weighted_seconds += job.seconds / job.weight;
  }
  return rival;
}

}  // namespace

void SharedServer::Add(std::size_t job, const ClientId& client, double seconds, double weight) {
  Address& address = NodeOf(addresses_, client.address);
  NodeOf(address.connections, client.connection).jobs.push_back({job, seconds, weight});
}

std::optional<SharedServer::Done> SharedServer::Work() {
  const auto address = Next(addresses_);
  const auto connection = Next(address->second.connections);
  Job& job = connection->second.jobs.front();
  began_.emplace(job.number, now_);
  const double seconds = std::min(job.seconds, kQuantum);
  now_ += seconds;
  address->second.tag += seconds / job.weight;
  connection->second.tag += seconds / job.weight;
  job.seconds -= seconds;
  if (job.seconds > 1e-9) {
    return std::nullopt;
  }
  const Done done = {job.number, {address->first, connection->first}};
  connection->second.jobs.pop_front();
  if (connection->second.jobs.empty()) {
    address->second.connections.erase(connection);
  }
  if (address->second.connections.empty()) {
    addresses_.erase(address);
  }
  return done;
}

void SharedServer::WaitUntil(double seconds) { now_ = std::max(now_, seconds); }

Clock::time_point SharedServer::time() const {
  return Clock::time_point() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(now_));
}

std::optional<double> SharedServer::Began(std::size_t job) const {
  const auto found = began_.find(job);
  return found == began_.end() ? std::nullopt : std::optional(found->second);
}

double SharedServer::SecondsOf(const ClientId& client) const {
  const auto address = addresses_.find(client.address);
  if (address == addresses_.end()) {
    return 0;
  }
  const auto connection = address->second.connections.find(client.connection);
  return connection == address->second.connections.end() ? 0 : RivalOf(connection->second).seconds;
}

QueueState SharedServer::StateFor(const ClientId& client, std::int64_t tokens) const {
  QueueState state;
  const auto own = addresses_.find(client.address);
  const double address_tag = own == addresses_.end() ? SmallestTag(addresses_) : own->second.tag;
  for (const auto& [name, address] : addresses_) {
    Rival of_address = {.seconds = 0, .weighted_seconds = 0, .ahead = address.tag - address_tag};
    double connection_tag = SmallestTag(address.connections);
    if (const auto found = address.connections.find(client.connection);
        found != address.connections.end()) {
      connection_tag = found->second.tag;
    }
    for (const auto& [number, connection] : address.connections) {
      Rival rival = RivalOf(connection);
      of_address.seconds += rival.seconds;
      of_address.weighted_seconds += rival.weighted_seconds;
      for (std::size_t i = 0; i < connection.jobs.size(); ++i) {
        const JobSize size = {.tokens = tokens, .bytes = 4 * tokens};
        state.all.Add(size);
        if (name == client.address) {
          state.of_address.Add(size);
        }
        if (ClientId{name, number} == client) {
          state.of_connection.Add(size);
        }
      }
      if (ClientId{name, number} == client) {
        state.forecast.own_seconds = rival.seconds;
      } else if (name == client.address) {
        rival.ahead = connection.tag - connection_tag;
        state.forecast.connections.push_back(rival);
      }
    }
    if (name != client.address) {
      state.forecast.addresses.push_back(of_address);
    }
  }
  state.of_network = state.all;  // All are in one network.
  return state;
}

}  // namespace scorecast::coordinator
