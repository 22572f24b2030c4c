#include "coordinator/front/forwarder.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "coordinator/front/reply_kinds.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"
#include "proto/wire/error_message.h"

namespace scorecast::coordinator {

namespace asio = boost::asio;

namespace {

/// A replica takes 64 KiB beside the body, of which `request_id` and `forwarded` may have a
/// quarter.
constexpr std::size_t kBesideBody = std::size_t{48} << 10;

/// Refusals are not logged more often.
constexpr auto kRefusalLogInterval = std::chrono::seconds(10);

/// No model has a longer name.
constexpr std::size_t kMaxModelBytes = 512;

v1::Response ResponseOf(const proto::Error& error) {
  v1::Response response;
  ToMessage(error, *response.mutable_error());
  return response;
}

proto::Error NoSuchModel(const std::string& model, const ReplicaGroups& groups) {
  std::string served;
  for (const ReplicaGroup& group : groups.groups()) {
    served += (served.empty() ? "" : ", ") + proto::Quoted(group.model());
  }
  return {404, "model_not_found",
          "The model " + proto::Quoted(model) + " does not exist: there is " +
              (served.empty() ? "none" : served) + ".",
          "model"};
}

/// The end of a reply that has begun and cannot go on. `rest` says why.
proto::Error ReplicaLost(const std::string& rest) {
  return {
      502, "replica_lost",
      "The replica that computed the response was lost after the response had begun" + rest + ".",
      ""};
}

proto::Error BadReply() {
  return {502, "bad_reply", "The replica's reply is none to the request.", ""};
}

}  // namespace

Forwarder::Forwarder(const asio::any_io_executor& executor, Replicas& replicas,
                     const ForwarderOptions& options)
    : executor_(executor),
      replicas_(replicas),
      options_(options),
      queue_(options.queue),
      timer_(executor) {}

void Forwarder::Start() {
  replicas_.OnChange([weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->DispatchSoon();
    }
  });
  DispatchSoon();
}

void Forwarder::Close() {
  is_closed_ = true;
  replicas_.OnChange(nullptr);
  timer_.cancel();
  for (auto& [id, request] : std::exchange(requests_, {})) {
    if (!queue_.Remove(id) && request.replica != nullptr) {
      request.replica->connection->Cancel(request.sent_id);
    }
  }
}

std::uint64_t Forwarder::Forward(FrontRequest request, Handler handler) {
  const std::uint64_t id = ++last_id_;
  OngoingRequest& ongoing =
      requests_.emplace(id, OngoingRequest(std::move(request), std::move(handler))).first->second;
  const ReplicaGroup* const group = replicas_.groups().ByModel(ongoing.model);
  const bool may_come =
      ongoing.model.size() <= kMaxModelBytes && replicas_.groups().MayCome(ongoing.model);
  if (group != nullptr) {
    ongoing.model = group->model();
  }
  ongoing.place.ticket = id;
  ongoing.place.seconds = TimeOf(ongoing.model).Seconds(ongoing.bytes);
  ongoing.charged = ongoing.place.seconds;
  std::optional<proto::Error> fault =
      group == nullptr && !may_come
          ? NoSuchModel(ongoing.model, replicas_.groups())
          : queue_.Add(ongoing.model, ongoing.place, UsableFor(group), Clock::now());
  if (fault) {
    asio::post(executor_, [self = shared_from_this(), id, error = *std::move(fault)] {
      self->Fail(id, error);
    });
  } else {
    DispatchSoon();
  }
  return id;
}

std::map<std::string, WaitingInFront> Forwarder::waiting_by_model() const {
  std::map<std::string, WaitingInFront> waiting;
  for (const std::string& model : queue_.models()) {
    waiting[model] = {queue_.SizeOf(model), queue_.SecondsOf(model)};
  }
  return waiting;
}

TimePerByte Forwarder::TimeOf(const std::string& model) const {
  const auto found = times_.find(model);
  return found == times_.end() ? TimePerByte() : found->second;
}

UsableReplicas Forwarder::UsableFor(const ReplicaGroup* group) const {
  UsableReplicas usable;
  if (group == nullptr) {
    return usable;
  }
  for (const auto& replica : replicas_.UsableOf(*group)) {
    const double wait = replica->load.wait_seconds();
    usable.wait_seconds = usable.count++ == 0 ? wait : std::min(usable.wait_seconds, wait);
  }
  return usable;
}

void Forwarder::DispatchSoon() {
  if (!std::exchange(will_dispatch_, true)) {
    asio::post(executor_, [self = shared_from_this()] {
      self->will_dispatch_ = false;
      if (!self->is_closed_) {
        self->Dispatch();
      }
    });
  }
}

void Forwarder::Dispatch() {
  const Clock::time_point now = Clock::now();
  TakeBackFromStuck();
  SortByModel(now);
  for (const FrontQueue::Refused& refused : queue_.Expire(now)) {
    Fail(refused.ticket, refused.error);
  }
  for (const std::string& model : queue_.models()) {
    if (const ReplicaGroup* const group = replicas_.groups().ByModel(model)) {
      Serve(*group, now);
    }
  }
  ArmTimer();
}

void Forwarder::SortByModel(Clock::time_point now) {
  const ReplicaGroups& groups = replicas_.groups();
  std::set<std::string> usable;
  for (const ReplicaGroup& group : groups.groups()) {
    if (!replicas_.UsableOf(group).empty()) {
      usable.insert(group.model());
    }
  }
  queue_.SetUsable(usable, now);
  NoteUsable(std::move(usable));
  for (const std::string& model : queue_.models()) {
    const ReplicaGroup* const group = groups.ByModel(model);
    if (group != nullptr ? group->model() == model : groups.MayCome(model)) {
      continue;
    }
    const std::vector<std::uint64_t> ids = queue_.TicketsOf(model);
    if (group != nullptr) {
      queue_.Move(model, group->model(), now);
      for (const std::uint64_t id : ids) {
        requests_.at(id).model = group->model();
      }
      continue;
    }
    for (const std::uint64_t id : ids) {
      queue_.Remove(id);
      Fail(id, NoSuchModel(model, groups));
    }
  }
}

void Forwarder::NoteUsable(std::set<std::string> usable) {
  for (const std::string& model : usable_) {
    if (!usable.contains(model)) {
      gone_.insert(model);
      proto::LogWarning("no replica of {} can be used now: its requests wait",
                        proto::Quoted(model));
    }
  }
  for (const std::string& model : usable) {
    if (gone_.erase(model) > 0) {
      proto::LogInfo("a replica of {} can be used again", proto::Quoted(model));
    }
  }
  usable_ = std::move(usable);
}

bool Forwarder::IsFirstOfClient(std::span<const std::shared_ptr<Replica>> usable,
                                const OngoingRequest& request) const {
  const auto is_of_client = [&](std::uint64_t id) {
    const auto other = requests_.find(id);
    return other != requests_.end() &&
           other->second.place.client.address == request.place.client.address;
  };
  return std::ranges::none_of(
      usable, [&](const auto& replica) { return replica->load.HasAny(is_of_client); });
}

std::optional<ChosenReplica> Forwarder::Choose(std::span<const std::shared_ptr<Replica>> usable,
                                               const OngoingRequest& request,
                                               const OutstandingLimit& limit) const {
  double least_wait = std::numeric_limits<double>::infinity();
  for (const auto& replica : usable) {
    least_wait = std::min(least_wait, replica->load.wait_seconds());
  }
  const bool is_suspect = request.IsSuspect();
  std::vector<const ReplicaLoad*> loads;
  for (const auto& replica : usable) {
    const bool is_open = !(is_suspect && replica->suspects > 0) &&
                         std::ranges::find(request.refused_by, replica->connection->name()) ==
                             request.refused_by.end();
    const bool has_room =
        replica->load.HasRoom(limit, least_wait) && replica->connection->HasRoomFor(request.bytes);
    loads.push_back(is_open && has_room ? &replica->load : nullptr);
  }
  return ChooseReplica(loads, {request.bytes, request.pieces}, TimeOf(request.model));
}

void Forwarder::Serve(const ReplicaGroup& group, Clock::time_point now) {
  const std::string model = group.model();
  const std::vector<std::shared_ptr<Replica>> usable = replicas_.UsableOf(group);
  bool with_suspects = true;
  while (const std::optional<WaitingRequest> next = queue_.Next(model, with_suspects)) {
    const OngoingRequest& request = requests_.at(next->ticket);
    auto chosen = Choose(usable, request, options_.outstanding);
    if (!chosen && IsFirstOfClient(usable, request)) {
      chosen = Choose(usable, request, options_.outstanding.ForFirstOfClient());
    }
    if (chosen) {
      queue_.Take(model);
      SendTo(usable[chosen->index], chosen->seconds, next->ticket, now);
    } else if (next->is_suspect && with_suspects) {
      with_suspects = false;
    } else {
      return;
    }
  }
}

void Forwarder::SendTo(const std::shared_ptr<Replica>& replica, double seconds, std::uint64_t id,
                       Clock::time_point now) {
  OngoingRequest& request = requests_.at(id);
  if (const auto judge = std::exchange(request.judge, nullptr)) {
    if (const auto fault = judge(request.model)) {
      Fail(id, *fault);
      return;
    }
  }
  const auto limit = static_cast<std::size_t>(replica->connection->hello().max_request_bytes());
  if (request.body_bytes > limit || request.bytes > limit + kBesideBody) {
    Fail(id, {413, "request_too_large",
              "The request is too large: " + std::to_string(request.body_bytes) + " > " +
                  std::to_string(limit) + " bytes.",
              ""});
    return;
  }
  if (request.begun_by && *request.begun_by != ReplicaFacts::Of(replica->connection->hello())) {
    Fail(id, ReplicaLost(", and no other one gives the same response"));
    return;
  }
  request.replica = replica;
  request.is_answered = false;
  if (request.IsSuspect()) {
    request.is_suspect_there = true;
    ++replica->suspects;
  }
  request.sent_id = replica->connection->Send(request.message, request.ForwardedAt(now),
                                              [weak = weak_from_this(), id](ReplicaReply reply) {
                                                if (const auto self = weak.lock()) {
                                                  self->OnReply(id, std::move(reply));
                                                }
                                              });
  replica->load.OnSent(id, seconds, request.pieces, now);
}

void Forwarder::OnReply(std::uint64_t id, ReplicaReply reply) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) {
    return;
  }
  OngoingRequest& request = found->second;
  if (reply.kind == ReplicaReply::Kind::kLost) {
    OnLost(id, request);
    return;
  }
  const bool is_last = reply.kind == ReplicaReply::Kind::kLast;
  const bool is_first = !request.is_answered && !request.has_begun;
  if (const std::string fault = FaultOfReply(request.field, reply.response, is_first, is_last);
      !fault.empty()) {
    OnBadReply(id, request, fault, is_last);
    return;
  }
  if (is_last) {
    request.replica->aside_time = std::chrono::milliseconds(0);
  }
  if (request.may_move && IsRefusal(reply.response) &&
      IsSentElsewhere(id, request, reply.response)) {
    return;
  }
  if (!std::exchange(request.is_answered, true)) {
    NoteAnswer(id, request, reply.response);
  }
  if (!is_last && request.may_move) {
    request.NotePart(reply.response);
  }
  Charge(id, request);
  reply.response.clear_request_id();
  reply.response.clear_position();
  // A copy, because the handler may cancel the request.
  const Handler handler = is_last ? std::move(request.handler) : request.handler;
  if (is_last) {
    request.replica->load.OnEnded(id, Clock::now());
    requests_.erase(found);
  }
  handler({std::move(reply.response), is_last});
}

void Forwarder::NoteAnswer(std::uint64_t id, OngoingRequest& request,
                           const v1::Response& response) {
  request.ReleaseSuspect();
  const double seconds = request.replica->load.OnAnswered(id, Clock::now());
  // A stream that goes on elsewhere first has to come as far as it was.
  if (seconds > 0 && IsSuccess(response) && !request.has_begun) {
    times_[request.model].Learn(request.bytes, seconds);
  }
  if (queue_.size() > 0) {
    DispatchSoon();
  }
}

void Forwarder::Charge(std::uint64_t id, OngoingRequest& request) {
  const double used = request.replica->load.UsedBy(id, Clock::now());
  queue_.Charge(request.model, request.place, used - request.charged);
  request.charged = used;
}

void Forwarder::OnBadReply(std::uint64_t id, OngoingRequest& request, const std::string& fault,
                           bool is_last) {
  const std::shared_ptr<Replica> replica = request.replica;
  if (!is_last) {
    replica->connection->Cancel(request.sent_id);
  }
  replica->load.OnEnded(id, Clock::now());
  OnLost(id, request, /*is_bad_reply=*/true);
  replicas_.SetAside(replica, fault);
}

void Forwarder::TakeBackFromStuck() {
  std::set<const Replica*> stuck;
  for (const auto& [name, replica] : replicas_.listed()) {
    const ReplicaConnection& connection = *replica->connection;
    if (connection.is_ready() && !connection.status().ready() && !connection.status().draining() &&
        connection.in_flight() > 0) {
      stuck.insert(replica.get());
    }
  }
  if (stuck.empty()) {
    return;
  }
  std::vector<std::uint64_t> ids;
  for (const auto& [id, request] : requests_) {
    if (request.may_move && stuck.contains(request.replica.get())) {
      const ReplicaGroup* const group = replicas_.groups().ByModel(request.model);
      if (group != nullptr && !replicas_.UsableOf(*group).empty()) {
        ids.push_back(id);
      }
    }
  }
  for (const std::uint64_t id : ids) {
    // A handler of another one may have cancelled it.
    if (const auto found = requests_.find(id); found != requests_.end()) {
      OngoingRequest& request = found->second;
      request.replica->connection->Cancel(request.sent_id);
      request.replica->load.OnEnded(id, Clock::now());
      OnLost(id, request);
    }
  }
}

void Forwarder::OnLost(std::uint64_t id, OngoingRequest& request, bool is_bad_reply) {
  request.ReleaseSuspect();
  if (!request.may_move) {
    Fail(id, is_bad_reply ? BadReply() : ReplicaLost(""));
    return;
  }
  if (++request.losses >= OngoingRequest::kMostLosses) {
    proto::LogWarning("{} replicas were lost while they had a request of {}: it is not sent again",
                      request.losses, proto::Quoted(request.place.client.address.text()));
    Fail(id, is_bad_reply ? BadReply()
             : request.has_begun
                 ? ReplicaLost(", as were " + std::to_string(request.losses - 1) +
                               " replicas before it")
                 : proto::Error{503, "replica_lost",
                                "The request was sent to " + std::to_string(request.losses) +
                                    " replicas, and each was lost before it answered.",
                                "", 1});
    return;
  }
  PutBack(request);
}

bool Forwarder::IsSentElsewhere(std::uint64_t id, OngoingRequest& request,
                                const v1::Response& refusal) {
  const std::shared_ptr<Replica> replica = request.replica;
  const auto leave = [&] {
    replica->connection->Cancel(request.sent_id);  // What follows, if anything does.
    replica->load.OnEnded(id, Clock::now());
    request.ReleaseSuspect();
  };
  if (IsDraining(refusal, *replica)) {
    leave();
    replica->load.OnDraining();
    PutBack(request);
    return true;
  }
  replica->load.OnFull();
  request.refused_by.push_back(replica->connection->name());
  std::vector<std::shared_ptr<Replica>> usable;
  if (const ReplicaGroup* const group = replicas_.groups().ByModel(request.model)) {
    usable = replicas_.UsableOf(*group);
  }
  if (const auto chosen = Choose(usable, request, options_.outstanding)) {
    leave();
    SendTo(usable[chosen->index], chosen->seconds, id, Clock::now());
    return true;
  }
  if (options_.refusal_pause) {
    LogRefusal(*replica, refusal);
    leave();
    PutBackLater(id, request);
    return true;
  }
  return false;
}

void Forwarder::PutBackLater(std::uint64_t id, OngoingRequest& request) {
  request.replica = nullptr;
  request.pause = std::make_unique<asio::steady_timer>(executor_, *options_.refusal_pause);
  request.pause->async_wait([weak = weak_from_this(), id](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || self == nullptr) {
      return;
    }
    if (const auto found = self->requests_.find(id); found != self->requests_.end()) {
      self->PutBack(found->second);
    }
  });
}

void Forwarder::LogRefusal(const Replica& replica, const v1::Response& refusal) {
  const Clock::time_point now = Clock::now();
  if (now >= refusal_logged_ + kRefusalLogInterval) {
    refusal_logged_ = now;
    proto::LogInfo("replica {} has too many requests ({}): what it refuses is sent again",
                   replica.connection->name(), RefusalText(refusal));
  }
}

void Forwarder::PutBack(OngoingRequest& request) {
  request.replica = nullptr;
  request.refused_by.clear();
  request.place.is_suspect = request.IsSuspect();
  queue_.Return(request.model, request.place, Clock::now());
  DispatchSoon();
}

void Forwarder::Fail(std::uint64_t id, const proto::Error& error) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) {
    return;
  }
  const Handler handler = std::move(found->second.handler);
  requests_.erase(found);
  handler({ResponseOf(error), /*is_last=*/true});
}

void Forwarder::Cancel(std::uint64_t id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) {
    return;
  }
  if (const std::shared_ptr<Replica> replica = found->second.replica) {
    found->second.ReleaseSuspect();
    Charge(id, found->second);
    replica->load.OnEnded(id, Clock::now());
    replica->connection->Cancel(found->second.sent_id);
  } else {
    queue_.Remove(id);
  }
  requests_.erase(id);
  if (queue_.size() > 0) {
    DispatchSoon();
  }
}

void Forwarder::ArmTimer() {
  const std::optional<Clock::time_point> next = queue_.next_expiry();
  if (next == timer_end_) {
    return;
  }
  timer_end_ = next;
  timer_.cancel();
  if (next) {
    timer_.expires_at(*next);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!error && self != nullptr) {
        self->timer_end_.reset();
        self->DispatchSoon();
      }
    });
  }
}

}  // namespace scorecast::coordinator
