#include "coordinator/front/replica_groups.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/base/one_line.h"

namespace scorecast::coordinator {

ReplicaFacts ReplicaFacts::Of(const v1::HelloReply& hello) {
  return {.model = hello.model(),
          .kind = hello.kind(),
          .fingerprint = hello.fingerprint(),
          .dtype = hello.dtype(),
          .kernel_set = hello.kernel_set(),
          .version = hello.version()};
}

ReplicaGroups::Replica* ReplicaGroups::Find(const std::string& name) {
  const auto found = std::ranges::find(replicas_, name, &Replica::name);
  return found == replicas_.end() ? nullptr : &*found;
}

void ReplicaGroups::Pin(ReplicaFacts facts) {
  models_ = {facts.model};
  default_ = facts.model;
  pinned_ = std::move(facts);
  FormGroups();
}

void ReplicaGroups::SetListed(const std::vector<std::string>& names) {
  std::vector<Replica> replicas;
  for (const std::string& name : names) {
    Replica* const known = Find(name);
    replicas.push_back(known == nullptr ? Replica{.name = name, .facts = {}} : std::move(*known));
  }
  replicas_ = std::move(replicas);
  FormGroups();
}

void ReplicaGroups::ForgetUnlisted() {
  if (pinned_) {
    return;
  }
  std::erase_if(models_, [&](const std::string& model) {
    const bool is_listed = std::ranges::any_of(replicas_, [&](const Replica& one) {
      return one.facts.has_value() && one.facts->model == model;
    });
    if (!is_listed) {
      former_.insert(model);
    }
    return !is_listed;
  });
  if (!models_.contains(default_)) {
    default_.clear();
  }
  FormGroups();
}

void ReplicaGroups::Join(const std::string& name, ReplicaFacts facts) {
  if (Replica* const replica = Find(name)) {
    const std::string before = replica->facts ? replica->facts->model : "";
    replica->facts = std::move(facts);
    replica->is_there = true;
    FormGroups();
    if (!before.empty() && Named(before) == nullptr) {
      // It was the last one of its model, and is of another one now.
      models_.erase(before);
      if (default_ == before) {
        default_.clear();
        FormGroups();
      }
    }
  }
}

bool ReplicaGroups::SetAbsent(const std::string& name) {
  Replica* const replica = Find(name);
  if (replica == nullptr || replica->facts) {
    return false;
  }
  replica->is_absent = true;
  return true;
}

void ReplicaGroups::Leave(const std::string& name) {
  if (Replica* const replica = Find(name)) {
    replica->is_there = false;
    FormGroups();
  }
}

ReplicaFacts ReplicaGroups::FactsOfGroup(const std::string& model) const {
  const auto frequency = [&](const ReplicaFacts& facts) {
    return std::ranges::count_if(
        replicas_, [&](const Replica& one) { return one.is_there && one.facts == facts; });
  };
  const ReplicaFacts* best = nullptr;
  const auto old = std::ranges::find(groups_, model, &ReplicaGroup::model);
  if (old != groups_.end()) {
    best = &old->facts;
  }
  for (const Replica& replica : replicas_) {
    if (replica.facts && replica.facts->model == model &&
        (best == nullptr || frequency(*replica.facts) > frequency(*best))) {
      best = &*replica.facts;
    }
  }
  return *best;
}

void ReplicaGroups::FormGroups() {
  std::vector<ReplicaGroup> groups;
  if (pinned_) {
    groups.push_back({*pinned_, {}});
  }
  for (const Replica& replica : replicas_) {
    if (!replica.facts || (pinned_ && *replica.facts != *pinned_)) {
      continue;
    }
    auto group = std::ranges::find(groups, replica.facts->model, &ReplicaGroup::model);
    if (group == groups.end()) {
      groups.push_back({FactsOfGroup(replica.facts->model), {}});
      group = groups.end() - 1;
    }
    if (replica.is_there && *replica.facts == group->facts) {
      group->members.push_back(replica.name);
    }
  }
  groups_ = std::move(groups);
  for (const ReplicaGroup& group : groups_) {
    models_.insert(group.model());
    former_.erase(group.model());
  }
  // If the replicas of the model have gone, they may come back.
  if (!groups_.empty() && (default_.empty() || Named(default_) != nullptr)) {
    default_ = groups_.front().model();
  }
}

const ReplicaGroup* ReplicaGroups::Named(std::string_view model) const {
  const auto found = std::ranges::find(groups_, model, &ReplicaGroup::model);
  return found == groups_.end() ? nullptr : &*found;
}

bool ReplicaGroups::is_complete() const {
  return std::ranges::all_of(
      replicas_, [](const Replica& one) { return one.facts.has_value() || one.is_absent; });
}

const ReplicaGroup* ReplicaGroups::ByModel(std::string_view model) const {
  if (pinned_) {
    return &groups_.front();
  }
  if (const ReplicaGroup* const group = Named(model.empty() ? default_ : model)) {
    return group;
  }
  const bool takes_any =
      models_.size() == 1 && !models_.contains(model) && !former_.contains(model) && is_complete();
  return takes_any && !model.empty() ? Named(default_) : nullptr;
}

bool ReplicaGroups::MayCome(std::string_view model) const {
  return model.empty() || models_.empty() || models_.contains(model) || former_.contains(model) ||
         !is_complete() || (models_.size() == 1 && groups_.empty());
}

std::string ReplicaGroups::DifferenceOf(const std::string& name) const {
  const auto replica = std::ranges::find(replicas_, name, &Replica::name);
  if (replica == replicas_.end() || !replica->is_there) {
    return {};
  }
  const ReplicaFacts& own = *replica->facts;
  const ReplicaFacts& facts = pinned_ ? *pinned_ : Named(own.model)->facts;
  struct Fact {
    const char* name;
    const std::string& own;
    const std::string& of_group;
  };
  const std::array compared = {Fact{"model", own.model, facts.model},
                               Fact{"kind", own.kind, facts.kind},
                               Fact{"fingerprint", own.fingerprint, facts.fingerprint},
                               Fact{"dtype", own.dtype, facts.dtype},
                               Fact{"kernel set", own.kernel_set, facts.kernel_set},
                               Fact{"version", own.version, facts.version}};
  std::string text;
  for (const Fact& fact : compared) {
    if (fact.own != fact.of_group) {
      text += (text.empty() ? "" : ", ") + std::string(fact.name) + " " + proto::Quoted(fact.own) +
              " instead of " + proto::Quoted(fact.of_group);
    }
  }
  return text;
}

}  // namespace scorecast::coordinator
