#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/front/replica_connection.h"
#include "coordinator/front/replica_groups.h"
#include "coordinator/front/replica_list.h"
#include "coordinator/front/replica_load.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A replica at one address.
struct Replica {
  std::shared_ptr<ReplicaConnection> connection;
  ReplicaLoad load;
  bool is_there = false;     ///< It is connected, and does not drain.
  std::string difference;    ///< See ReplicaGroups::DifferenceOf; as it was logged last.
  std::size_t suspects = 0;  ///< See Forwarder.
  /// While it is set aside: see Replicas::SetAside.
  std::shared_ptr<boost::asio::steady_timer> aside_timer;
  std::chrono::milliseconds aside_time{
      0};  ///< How long it was set aside last; 0 after a good reply.
  /// Ends when requests do not wait for it any longer to say what it is.
  std::optional<boost::asio::steady_timer> unknown_timer;
};

/// A front's replicas: those that are listed, their connections, and the groups that they form.
/// One that is listed no more, or elsewhere, replies to what it has in flight, and gets no further
/// requests. Used only on its executor, which runs one handler at a time.
class Replicas {
 public:
  Replicas(const boost::asio::any_io_executor& executor, ReplicaOptions options);
  /// Calls Close.
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// `changed` is called when a replica can be used that could not be before, or the other way
  /// round, or has said its state.
  void OnChange(std::function<void()> changed) { changed_ = std::move(changed); }
  void SetList(const std::vector<ListedReplica>& list);
  /// See ReplicaGroups.
  void Pin(ReplicaFacts facts);
  /// Sends a replica no further requests, until it is undone: also if it leaves and comes back.
  /// Returns how many requests it has and has not replied to. A 404 if it is not listed, a 409 if
  /// no other replica of its model is there.
  proto::Expected<std::size_t> Drain(const std::string& name, bool undo);
  bool IsDrained(const std::string& name) const { return drained_.contains(name); }
  /// How often a connection of this name was lost, wherever the replica was.
  std::uint64_t LossesOf(const std::string& name) const {
    const auto found = losses_.find(name);
    return found == losses_.end() ? 0 : found->second;
  }
  /// A replica has sent a reply that no service gives. It gets no requests for a while: the first
  /// time for ReplicaOptions::first_aside, then for twice as long each time, until a reply is good.
  void SetAside(const std::shared_ptr<Replica>& replica, const std::string& fault);
  /// How many such replies a replica of this name has sent.
  std::uint64_t BadRepliesOf(const std::string& name) const {
    const auto found = bad_replies_.find(name);
    return found == bad_replies_.end() ? 0 : found->second;
  }
  /// Ends all connections. What is in flight is lost.
  void Close();

  const ReplicaGroups& groups() const { return groups_; }
  /// Those that are listed, by name.
  const std::map<std::string, std::shared_ptr<Replica>>& listed() const { return listed_; }
  /// Members of the group that can be used now, in the order of the list.
  std::vector<std::shared_ptr<Replica>> UsableOf(const ReplicaGroup& group) const;

 private:
  std::shared_ptr<Replica> Begin(const ListedReplica& listed);
  void Retire(const std::shared_ptr<Replica>& replica);
  void OnStatus(const std::string& name, Replica& replica);
  /// Whether another replica of its model is there.
  bool HasAnother(const std::string& name, const Replica& replica) const;
  void OnLost(const std::string& name, Replica& replica);
  /// Lets it join or leave its group.
  void SetThere(const std::string& name, Replica& replica, bool is_there);
  void LogDifferences();
  void Tell() const;

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const ReplicaOptions> options_;
  std::function<void()> changed_;
  std::map<std::string, std::shared_ptr<Replica>> listed_;
  std::set<std::string> drained_;                     ///< Names; see Drain.
  std::map<std::string, std::uint64_t> losses_;       ///< By name; see LossesOf.
  std::map<std::string, std::uint64_t> bad_replies_;  ///< By name; see BadRepliesOf.
  std::vector<std::shared_ptr<ReplicaConnection>> retired_;
  ReplicaGroups groups_;
  std::shared_ptr<boost::asio::steady_timer> forget_timer_;  ///< Since the list has changed.
};

}  // namespace scorecast::coordinator
