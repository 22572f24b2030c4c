#include "coordinator/schedule/queue/retry_promises.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace scorecast::coordinator {
namespace {

using Seconds = std::chrono::duration<double>;

/// A promise lapses this long after it is due, and a part of the time later for which the client
/// was told to wait: clients that wait long are less exact.
constexpr double kLapseSeconds = 1;
constexpr double kLapsePart = 0.5;

Clock::duration DurationOf(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

}  // namespace

std::int64_t RetryPromises::Promise(const ClientId& client, std::uint64_t request,
                                    Clock::time_point now, double room_in, double apart) {
  double seconds = room_in;
  if (const Client* found = Find(client, now)) {
    seconds = std::max(seconds, Seconds(found->last - now).count() + apart);
  }
  seconds = std::clamp(seconds, kShortestSeconds, kLongestSeconds);
  // Clients are told whole seconds. A millisecond is less than predictions are exact.
  const double told = std::ceil(seconds - 1e-3);
  const Clock::time_point due = now + DurationOf(told);
  if (remembered_ >= kMost) {
    RemoveAllLapsed(now);
  }
  const auto found = clients_.find(client);
  const std::size_t own = found == clients_.end() ? 0 : found->second.entries.size();
  if (own < kMostOfClient && remembered_ < kMost) {
    Client& to = clients_[client];
    to.entries.push_back({.request = request,
                          .due = due,
                          .lapses = due + DurationOf(kLapseSeconds + kLapsePart * told),
                          .apart = apart});
    to.last = now + DurationOf(seconds);
    ++remembered_;
  }
  return static_cast<std::int64_t>(told);
}

bool RetryPromises::Keep(const ClientId& client, std::uint64_t request, Clock::time_point now) {
  Client* found = Find(client, now);
  if (found == nullptr) {
    return false;
  }
  const auto entry = std::ranges::find_if(
      found->entries, [&](const Entry& one) { return one.request == request && one.due <= now; });
  if (entry == found->entries.end()) {
    return false;
  }
  found->entries.erase(entry);
  --remembered_;
  if (found->entries.empty()) {
    clients_.erase(client);
  }
  return true;
}

double RetryPromises::PromisedSeconds(const ClientId& client, Clock::time_point now) {
  double seconds = 0;
  if (const Client* found = Find(client, now)) {
    for (const Entry& entry : found->entries) {
      seconds += entry.apart;
    }
  }
  return seconds;
}

RetryPromises::Client* RetryPromises::Find(const ClientId& client, Clock::time_point now) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) {
    return nullptr;
  }
  RemoveLapsed(found->second, now);
  if (found->second.entries.empty()) {
    clients_.erase(found);
    return nullptr;
  }
  return &found->second;
}

void RetryPromises::RemoveLapsed(Client& client, Clock::time_point now) {
  remembered_ -=
      std::erase_if(client.entries, [&](const Entry& entry) { return entry.lapses <= now; });
}

void RetryPromises::RemoveAllLapsed(Clock::time_point now) {
  if (now - cleared_ < std::chrono::seconds(1)) {
    return;
  }
  cleared_ = now;
  for (auto& [id, client] : clients_) {
    RemoveLapsed(client, now);
  }
  std::erase_if(clients_, [](const auto& client) { return client.second.entries.empty(); });
}

}  // namespace scorecast::coordinator
