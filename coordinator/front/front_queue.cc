#include "coordinator/front/front_queue.h"

#include <algorithm>
#include <cmath>

#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

/// A client that was idle may be served so much before the others.
constexpr double kCredit = 0.5;

// Bounds of the time after which a refused request is told to come back.
constexpr double kShortestRetry = 1;
constexpr double kLongestRetry = 600;
/// Seconds after which a replica may have come.
constexpr std::int64_t kReplicaRetry = 5;

std::int64_t RetryAfter(double seconds) {
  return static_cast<std::int64_t>(std::ceil(std::clamp(seconds, kShortestRetry, kLongestRetry)));
}

std::string Milliseconds(double seconds) {
  return std::to_string(std::llround(1e3 * seconds)) + " ms";
}

/// Of models of which no replica has been seen. Clients may name any.
constexpr std::size_t kMostUnknownLines = 1000;

FairPath PathOf(const WaitingRequest& request) {
  return {.client = request.client, .priority = request.priority};
}

ClientId AnyConnectionOf(const ClientId& client) {
  return {.address = client.address, .network = client.network};
}

proto::Error DeadlinePassed() {
  return {504, "deadline_passed", "The request's deadline passed before all of it was computed.",
          "timeout_ms"};
}

proto::Error NoReplica() {
  return {503, "no_replica", "No replica with the model can be reached.", "", kReplicaRetry};
}

}  // namespace

FrontQueue::Lines::iterator FrontQueue::LineOf(const std::string& model, bool has_replicas,
                                               Clock::time_point now) {
  const auto [line, is_new] = lines_.try_emplace(model);
  if (is_new && !has_replicas) {
    line->second.absent_since = now;
  }
  return line;
}

std::optional<proto::Error> FrontQueue::Add(const std::string& model, const WaitingRequest& request,
                                            const UsableReplicas& replicas, Clock::time_point now) {
  if (lines_.size() >= kMostUnknownLines && !lines_.contains(model)) {
    return NoReplica();
  }
  const auto line = LineOf(model, replicas.count > 0, now);
  if (auto refusal = RefusalOf(line->second, request, replicas, now)) {
    ForgetIfEmpty(line);
    return refusal;
  }
  Insert(line, request, /*is_returned=*/false);
  return std::nullopt;
}

void FrontQueue::Return(const std::string& model, const WaitingRequest& request,
                        Clock::time_point now) {
  Insert(LineOf(model, /*has_replicas=*/false, now), request, /*is_returned=*/true);
}

bool FrontQueue::IsAbandoned(const Line& line, Clock::time_point now) const {
  return options_.patience && line.absent_since && now >= *line.absent_since + *options_.patience;
}

double FrontQueue::WaitOf(const Line& line, const WaitingRequest& request,
                          const UsableReplicas& replicas) {
  // The client waits for all others, or, if that is less, until each of them has been served as
  // much as itself.
  const auto own = line.by_client.find(AnyConnectionOf(request.client));
  const double own_seconds = own == line.by_client.end() ? 0 : own->second.second;
  const std::size_t clients = line.by_client.size() + (own == line.by_client.end() ? 1 : 0);
  const double of_share =
      static_cast<double>(clients) * (own_seconds + request.seconds) - request.seconds;
  return std::min(line.seconds, of_share) /
             static_cast<double>(std::max<std::size_t>(replicas.count, 1)) +
         replicas.wait_seconds;
}

std::optional<proto::Error> FrontQueue::RefusalOf(const Line& line, const WaitingRequest& request,
                                                  const UsableReplicas& replicas,
                                                  Clock::time_point now) const {
  if (request.deadline && *request.deadline <= now) {
    return DeadlinePassed();
  }
  if (IsAbandoned(line, now)) {
    return NoReplica();
  }
  const double wait = WaitOf(line, request, replicas);
  if (bytes_ > 0 && bytes_ + request.bytes > options_.max_bytes) {
    return proto::Error{429, "queue_full",
                        "Too many bytes wait: " + std::to_string(bytes_) + " + " +
                            std::to_string(request.bytes) + " > " +
                            std::to_string(options_.max_bytes) + ".",
                        "", RetryAfter(wait)};
  }
  if (!options_.max_wait_seconds || replicas.count == 0) {
    return std::nullopt;
  }
  if (wait > *options_.max_wait_seconds) {
    return proto::Error{429, "wait_too_long",
                        "The request would have to wait too long: " + Milliseconds(wait) + " > " +
                            Milliseconds(*options_.max_wait_seconds) + ".",
                        "", RetryAfter(wait - *options_.max_wait_seconds)};
  }
  if (request.deadline) {
    const double left = std::chrono::duration<double>(*request.deadline - now).count();
    const double end = wait + request.seconds;
    // If it would come too late even alone, no time is better than now.
    if (end > left && request.seconds <= left) {
      return proto::Error{429, "deadline_too_close",
                          "The request would be computed in " + Milliseconds(end) +
                              ", but its deadline is in " + Milliseconds(left) + ".",
                          "timeout_ms", RetryAfter(end - left)};
    }
  }
  return std::nullopt;
}

void FrontQueue::Insert(Lines::iterator line, const WaitingRequest& request, bool is_returned) {
  const bool is_new =
      entries_.try_emplace(request.ticket, Entry{request, line, is_returned}).second;
  proto::Check(is_new, "a request waits once");
  Line& own = line->second;
  if (is_returned) {
    (request.is_suspect ? own.suspects : own.returned).insert(request.ticket);
  } else {
    own.fair.Add(PathOf(request), {.ticket = request.ticket}, {});
  }
  own.seconds += request.seconds;
  own.tickets.insert(request.ticket);
  auto& [requests, seconds] = own.by_client[AnyConnectionOf(request.client)];
  ++requests;
  seconds += request.seconds;
  bytes_ += request.bytes;
  if (request.deadline) {
    deadlines_.emplace(*request.deadline, request.ticket);
  }
}

void FrontQueue::Erase(Entries::iterator entry) {
  const WaitingRequest& request = entry->second.request;
  const Lines::iterator line = entry->second.line;
  Line& own = line->second;
  if (entry->second.is_returned) {
    (request.is_suspect ? own.suspects : own.returned).erase(request.ticket);
  } else {
    own.fair.Remove(PathOf(request), {.ticket = request.ticket});
  }
  own.tickets.erase(request.ticket);
  // Without the rounding of all that was added and subtracted, if nothing is left.
  own.seconds = own.tickets.empty() ? 0 : own.seconds - request.seconds;
  const auto client = own.by_client.find(AnyConnectionOf(request.client));
  client->second.second -= request.seconds;
  if (--client->second.first == 0) {
    own.by_client.erase(client);
  }
  bytes_ -= request.bytes;
  if (request.deadline) {
    deadlines_.erase({*request.deadline, request.ticket});
  }
  entries_.erase(entry);
  ForgetIfEmpty(line);
}

void FrontQueue::ForgetIfEmpty(Lines::iterator line) {
  if (line->second.tickets.empty() && !line->second.is_known) {
    lines_.erase(line);
  }
}

bool FrontQueue::Remove(std::uint64_t ticket) {
  const auto entry = entries_.find(ticket);
  if (entry == entries_.end()) {
    return false;
  }
  Erase(entry);
  return true;
}

void FrontQueue::Move(const std::string& from, const std::string& to, Clock::time_point now) {
  for (const std::uint64_t ticket : TicketsOf(from)) {
    const auto entry = entries_.find(ticket);
    const WaitingRequest request = entry->second.request;
    const bool is_returned = entry->second.is_returned;
    Erase(entry);
    Insert(LineOf(to, /*has_replicas=*/false, now), request, is_returned);
  }
}

std::optional<WaitingRequest> FrontQueue::Next(const std::string& model, bool with_suspects) {
  const auto line = lines_.find(model);
  if (line == lines_.end()) {
    return std::nullopt;
  }
  Line& own = line->second;
  if (with_suspects && !own.suspects.empty()) {
    own.next = *own.suspects.begin();
  } else if (!own.returned.empty()) {
    own.next = *own.returned.begin();
  } else if (!own.fair.empty()) {
    own.fair.BeginPass(kCredit);
    own.next = own.fair.Next()->ticket;
  } else {
    return std::nullopt;
  }
  return entries_.at(own.next).request;
}

void FrontQueue::Take(const std::string& model) {
  Line& own = lines_.at(model);
  const auto entry = entries_.find(own.next);
  proto::Check(entry != entries_.end(), "a request that is taken waits");
  if (!entry->second.is_returned) {
    own.fair.ChargeNext(entry->second.request.seconds);
  }
  Erase(entry);
}

void FrontQueue::Charge(const std::string& model, const WaitingRequest& request, double seconds) {
  const auto line = lines_.find(model);
  if (line != lines_.end() && seconds != 0) {
    line->second.fair.Charge(PathOf(request), seconds);
  }
}

std::size_t FrontQueue::SizeOf(const std::string& model) const {
  const auto line = lines_.find(model);
  return line == lines_.end() ? 0 : line->second.tickets.size();
}

double FrontQueue::SecondsOf(const std::string& model) const {
  const auto line = lines_.find(model);
  return line == lines_.end() ? 0 : line->second.seconds;
}

void FrontQueue::SetUsable(const std::set<std::string>& models, Clock::time_point now) {
  for (const std::string& model : models) {
    Line& line = lines_[model];
    line.is_known = true;
    line.absent_since.reset();
  }
  for (auto& [model, line] : lines_) {
    if (!line.absent_since && !models.contains(model)) {
      line.absent_since = now;
    }
  }
}

std::vector<FrontQueue::Refused> FrontQueue::Expire(Clock::time_point now) {
  std::vector<Refused> refused;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    refused.push_back({deadlines_.begin()->second, DeadlinePassed()});
    Remove(refused.back().ticket);
  }
  for (const std::string& model : models()) {
    if (IsAbandoned(lines_.at(model), now)) {
      for (const std::uint64_t ticket : TicketsOf(model)) {
        refused.push_back({ticket, NoReplica()});
        Remove(ticket);
      }
    }
  }
  return refused;
}

std::optional<Clock::time_point> FrontQueue::next_expiry() const {
  std::optional<Clock::time_point> next;
  if (!deadlines_.empty()) {
    next = deadlines_.begin()->first;
  }
  for (const auto& [model, line] : lines_) {
    if (options_.patience && !line.tickets.empty() && line.absent_since) {
      const Clock::time_point end = *line.absent_since + *options_.patience;
      next = next ? std::min(*next, end) : end;
    }
  }
  return next;
}

std::vector<std::string> FrontQueue::models() const {
  std::vector<std::string> models;
  for (const auto& [model, line] : lines_) {
    if (!line.tickets.empty()) {
      models.push_back(model);
    }
  }
  return models;
}

std::vector<std::uint64_t> FrontQueue::TicketsOf(const std::string& model) const {
  const auto line = lines_.find(model);
  return line == lines_.end()
             ? std::vector<std::uint64_t>()
             : std::vector(line->second.tickets.begin(), line->second.tickets.end());
}

}  // namespace scorecast::coordinator
