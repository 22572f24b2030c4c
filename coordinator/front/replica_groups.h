#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// What replicas that give the same responses have in common.
struct ReplicaFacts {
  std::string model;
  std::string kind;
  std::string fingerprint;
  std::string dtype;
  std::string kernel_set;
  std::string version;

  static ReplicaFacts Of(const v1::HelloReply& hello);
  bool operator==(const ReplicaFacts&) const = default;
};

/// Replicas of one model that are interchangeable.
struct ReplicaGroup {
  ReplicaFacts facts;
  std::vector<std::string> members;  ///< Names of those that are there, in the order of the list.

  const std::string& model() const { return facts.model; }
};

/// Which replicas are interchangeable. Those with the same facts form the group of their model. If
/// replicas of one model differ, the group is that of the facts which most of those have that are
/// there; if two facts are equally frequent, those that the group has already, or else those of
/// the first replica in the list. The others are not used. So one wrong replica that comes first
/// does not keep out the right ones, and an upgrade of one replica after another moves the group
/// in the middle.
///
/// A replica that leaves is remembered for as long as it is listed, and the name of a model until
/// all its replicas have come back with another one. So the requests for a model whose replicas
/// have all gone never go to another model. Those that name no model do if no replica of it is
/// listed any more: see ForgetUnlisted.
///
/// Pure: the groups depend on the calls alone.
class ReplicaGroups {
 public:
  /// From now on there is only the group with these facts, and all requests are for it.
  void Pin(ReplicaFacts facts);
  /// The replicas that are listed now, in their order. Others are forgotten.
  void SetListed(const std::vector<std::string>& names);
  /// Models of which no replica is listed any more are no models of this front now. Requests that
  /// name one still wait for it.
  void ForgetUnlisted();
  /// A replica that is listed is there, and has these facts.
  void Join(const std::string& name, ReplicaFacts facts);
  /// It is not there any more, or drains.
  void Leave(const std::string& name);
  /// A replica that is listed does not say what it is. It counts as none of another model until it
  /// does. False if it has said it.
  bool SetAbsent(const std::string& name);

  /// The group for a request that names `model`, or null if there is none now.
  ///
  /// - A request that names none, for which `model` is empty, goes to the only group, or, if there
  ///   are several, to that of the first replica in the list which has said what it is.
  /// - A name that no replica has ever had goes to the only group, as a server takes every name.
  ///   But only if there is no other model, and every replica in the list has said what it is: a
  ///   replica that has not might have this name.
  const ReplicaGroup* ByModel(std::string_view model) const;
  /// Whether a group for these requests may come, if there is none now.
  bool MayCome(std::string_view model) const;
  /// In the order of their first replicas in the list.
  const std::vector<ReplicaGroup>& groups() const { return groups_; }
  /// Whether every replica in the list has said what it is, but for those that are absent.
  bool is_complete() const;
  std::size_t listed() const { return replicas_.size(); }

  /// What keeps a replica that is there out of its group: "dtype int8 instead of bf16". Empty if
  /// nothing does.
  std::string DifferenceOf(const std::string& name) const;

 private:
  struct Replica {
    std::string name;
    std::optional<ReplicaFacts> facts;
    bool is_there = false;
    bool is_absent = false;  ///< See SetAbsent.
  };

  Replica* Find(const std::string& name);
  const ReplicaGroup* Named(std::string_view model) const;
  void FormGroups();
  /// The facts of the group of a model.
  ReplicaFacts FactsOfGroup(const std::string& model) const;

  std::vector<Replica> replicas_;
  std::optional<ReplicaFacts> pinned_;  ///< See Pin.
  std::vector<ReplicaGroup> groups_;
  std::set<std::string, std::less<>> models_;  ///< Of all groups that there were, until forgotten.
  std::set<std::string, std::less<>> former_;  ///< See ForgetUnlisted.
  std::string default_;  ///< The model of requests that name none; empty if there is none yet.
};

}  // namespace scorecast::coordinator
