#include "coordinator/front/replicas.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "proto/base/one_line.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {

Replicas::Replicas(const boost::asio::any_io_executor& executor, ReplicaOptions options)
    : executor_(executor), options_(std::make_shared<const ReplicaOptions>(std::move(options))) {}

Replicas::~Replicas() { Close(); }

void Replicas::SetList(const std::vector<ListedReplica>& list) {
  std::erase_if(retired_, [](const auto& connection) { return connection->has_ended(); });
  std::map<std::string, std::shared_ptr<Replica>> before = std::exchange(listed_, {});
  std::vector<std::string> names;
  for (const ListedReplica& listed : list) {
    names.push_back(listed.name);
    const auto old = before.find(listed.name);
    if (old != before.end() && old->second->connection->address() == listed.address) {
      listed_.insert(before.extract(old));
    }
  }
  for (const auto& [name, replica] : before) {
    groups_.Leave(name);
    Retire(replica);
  }
  groups_.SetListed(names);
  for (const ListedReplica& listed : list) {
    if (!listed_.contains(listed.name)) {
      listed_.emplace(listed.name, Begin(listed));
    }
  }
  LogDifferences();
  Tell();
  // Replicas that start again may be listed no more for a while.
  forget_timer_ = std::make_shared<boost::asio::steady_timer>(executor_, options_->unknown_time);
  forget_timer_->async_wait(
      [this, weak = std::weak_ptr(forget_timer_)](const boost::system::error_code& error) {
        if (!error && weak.lock() != nullptr) {  // Without its timer, this object may be gone.
          groups_.ForgetUnlisted();
          Tell();
        }
      });
}

void Replicas::Pin(ReplicaFacts facts) {
  groups_.Pin(std::move(facts));
  LogDifferences();
  Tell();
}

std::shared_ptr<Replica> Replicas::Begin(const ListedReplica& listed) {
  auto replica = std::make_shared<Replica>();
  // The replica owns the connection, which calls no event after Retire or Close.
  Replica* const own = replica.get();
  const auto name = std::make_shared<const std::string>(listed.name);
  replica->connection = std::make_shared<ReplicaConnection>(
      executor_, listed.name, listed.address, options_,
      ReplicaConnection::Events{.ready = [this, own, name] { OnStatus(*name, *own); },
                                .status = [this, own, name] { OnStatus(*name, *own); },
                                .lost = [this, own, name] { OnLost(*name, *own); }});
  replica->connection->Start();
  replica->unknown_timer.emplace(executor_, options_->unknown_time);
  replica->unknown_timer->async_wait(
      [this, name, weak = std::weak_ptr(replica)](const boost::system::error_code& error) {
        const auto listed_still = weak.lock();
        // Without its timer it is not, and this object may be gone.
        if (!error && listed_still != nullptr && listed_still->unknown_timer &&
            groups_.SetAbsent(*name)) {
          proto::LogWarning("replica {} has not said yet what it is: requests do not wait for it",
                            *name);
          Tell();
        }
      });
  return replica;
}

void Replicas::Retire(const std::shared_ptr<Replica>& replica) {
  proto::LogInfo("replica {} at {} is listed no more", replica->connection->name(),
                 replica->connection->address());
  replica->load.OnLost();
  replica->unknown_timer.reset();
  replica->aside_timer.reset();
  retired_.push_back(replica->connection);
  replica->connection->Retire();
}

void Replicas::OnStatus(const std::string& name, Replica& replica) {
  const ReplicaConnection& connection = *replica.connection;
  const v1::Status& status = connection.status();
  replica.load.OnStatus(
      status.predicted_seconds(), connection.is_usable(), Clock::now(),
      static_cast<std::size_t>(std::max<std::int64_t>(status.running_completions(), 0)));
  SetThere(name, replica, !status.draining() && !IsDrained(name));
  Tell();
}

bool Replicas::HasAnother(const std::string& name, const Replica& replica) const {
  return std::ranges::any_of(listed_, [&](const auto& other) {
    return other.first != name && other.second->is_there &&
           other.second->connection->hello().model() == replica.connection->hello().model();
  });
}

proto::Expected<std::size_t> Replicas::Drain(const std::string& name, bool undo) {
  const auto found = listed_.find(name);
  if (found == listed_.end() && !(undo && IsDrained(name))) {
    std::string names;
    for (const auto& [other, replica] : listed_) {
      names += (names.empty() ? "" : ", ") + other;
    }
    return proto::Unexpected(proto::Error{404, "no_such_replica",
                                          "There is no replica " + proto::Quoted(name) +
                                              (names.empty() ? "." : ": there is " + names + "."),
                                          "replica"});
  }
  if (found == listed_.end()) {
    drained_.erase(name);
    return 0;
  }
  Replica& replica = *found->second;
  if (!undo && replica.is_there && !HasAnother(name, replica)) {
    return proto::Unexpected(proto::Error{
        409, "last_replica",
        "No other replica of " + proto::Quoted(replica.connection->hello().model()) + " is there.",
        "replica"});
  }
  const bool is_new = undo ? drained_.erase(name) > 0 : drained_.insert(name).second;
  if (is_new) {
    proto::LogInfo("replica {} {}", name, undo ? "gets requests again" : "gets no more requests");
    if (replica.connection->is_ready()) {
      OnStatus(name, replica);
    }
  }
  return replica.connection->in_flight();
}

void Replicas::SetAside(const std::shared_ptr<Replica>& replica, const std::string& fault) {
  const std::string& name = replica->connection->name();
  ++bad_replies_[name];
  if (replica->aside_timer != nullptr) {
    return;  // Of a request that it was sent before.
  }
  replica->aside_time =
      std::clamp(2 * replica->aside_time, options_->first_aside, options_->longest_aside);
  proto::LogWarning("replica {} has sent a bad reply ({}): it gets no requests for {} ms", name,
                    fault, replica->aside_time.count());
  replica->load.SetAside(true);
  replica->aside_timer =
      std::make_shared<boost::asio::steady_timer>(executor_, replica->aside_time);
  replica->aside_timer->async_wait(
      [this, weak = std::weak_ptr(replica)](const boost::system::error_code& error) {
        const auto aside = weak.lock();
        // Without its timer it is not, and this object may be gone.
        if (!error && aside != nullptr && aside->aside_timer != nullptr) {
          aside->aside_timer.reset();
          aside->load.SetAside(false);
          Tell();
        }
      });
  Tell();
}

void Replicas::OnLost(const std::string& name, Replica& replica) {
  replica.load.OnLost();
  ++losses_[name];
  SetThere(name, replica, false);
  Tell();
}

void Replicas::SetThere(const std::string& name, Replica& replica, bool is_there) {
  if (replica.is_there == is_there) {
    return;
  }
  replica.is_there = is_there;
  if (is_there) {
    groups_.Join(name, ReplicaFacts::Of(replica.connection->hello()));
  } else {
    groups_.Leave(name);
  }
  LogDifferences();
}

void Replicas::LogDifferences() {
  for (const auto& [name, replica] : listed_) {
    if (!replica->is_there) {
      continue;
    }
    const std::string& model = replica->connection->hello().model();
    std::string difference = groups_.DifferenceOf(name);
    if (difference == replica->difference) {
      continue;
    }
    if (difference.empty()) {
      proto::LogInfo("replica {} is used: it has what the others of {} have", name,
                     proto::Quoted(model));
    } else {
      proto::LogWarning("replica {} is not used, because it differs from those that are: {}", name,
                        difference);
    }
    replica->difference = std::move(difference);
  }
}

std::vector<std::shared_ptr<Replica>> Replicas::UsableOf(const ReplicaGroup& group) const {
  std::vector<std::shared_ptr<Replica>> usable;
  for (const std::string& name : group.members) {
    const std::shared_ptr<Replica>& replica = listed_.at(name);
    if (replica->load.is_usable()) {
      usable.push_back(replica);
    }
  }
  return usable;
}

void Replicas::Close() {
  changed_ = nullptr;
  forget_timer_.reset();
  for (const auto& connection : std::exchange(retired_, {})) {
    connection->Close();
  }
  for (const auto& [name, replica] : std::exchange(listed_, {})) {
    replica->unknown_timer.reset();
    replica->aside_timer.reset();
    replica->connection->Close();
  }
  groups_.SetListed({});
}

void Replicas::Tell() const {
  if (changed_) {
    changed_();
  }
}

}  // namespace scorecast::coordinator
