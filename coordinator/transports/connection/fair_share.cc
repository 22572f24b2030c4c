#include "coordinator/transports/connection/fair_share.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace scorecast::coordinator {

FairShare::~FairShare() {
  is_left_ = true;  // The end of those inside is not noted any more.
  named_.clear();
  if (parent_ != nullptr) {
    LeaveParent();
  }
}

void FairShare::LeaveParent() {
  --parent_->inside_;
  if (parent_->inside_ == 0 && parent_->is_named_ && !std::exchange(parent_->is_left_, true)) {
    FairShare& above = *parent_->parent_;
    above.left_.push_back(parent_);
    above.Forget();
  }
}

void FairShare::MoveTo(FairShare& parent) {
  ++parent.inside_;  // First, so that it is not forgotten meanwhile.
  LeaveParent();
  parent_ = &parent;
  time_ = 0;  // Wait sets it to the parent's.
}

FairShare& FairShare::Named(const ClientName& name) {
  std::unique_ptr<FairShare>& share = named_[name];
  if (share == nullptr) {
    share = std::make_unique<FairShare>(*this);
    share->name_ = name;
    share->is_named_ = true;
  }
  return *share;
}

void FairShare::Forget() {
  // The last of them may end this share, too.
  std::vector<std::unique_ptr<FairShare>> gone;
  while (!left_.empty()) {
    FairShare& share = *left_.front();
    if (share.inside_ == 0 && share.time_ > now_) {
      break;  // Those behind it came later, so their times are hardly less.
    }
    left_.pop_front();
    share.is_left_ = false;
    if (share.inside_ == 0) {
      gone.push_back(std::move(named_.extract(share.name_).mapped()));
    }
  }
}

void FairShare::Enter() {
  is_waiting_ = true;
  if (unused_.empty()) {
    place_ = parent_->waiting_.emplace(time_, this);
  } else {
    unused_.key() = time_;
    place_ = parent_->waiting_.insert(std::move(unused_));
  }
}

void FairShare::Leave() {
  is_waiting_ = false;
  unused_ = parent_->waiting_.extract(place_);
}

void FairShare::Add(double seconds) {
  time_ += seconds;
  if (is_waiting_) {
    Leave();
    Enter();
  }
}

void FairShare::Wait() {
  for (FairShare* share = this; share->parent_ != nullptr && !share->is_waiting_;
       share = share->parent_) {
    if (share->under_way_ == 0) {
      share->time_ = std::max(share->time_, share->parent_->now_);
    }
    share->Enter();
  }
}

FairShare& FairShare::Begin() {
  FairShare* leaf = this;
  while (!leaf->waiting_.empty()) {
    FairShare* const next = leaf->waiting_.begin()->second;
    leaf->now_ = std::max(leaf->now_, next->time_);
    leaf = next;
  }
  leaf->expected_ = mean_;
  for (FairShare* share = leaf; share != nullptr; share = share->parent_) {
    ++share->under_way_;
    if (share->is_waiting_ && share->waiting_.empty()) {
      share->Leave();
    }
    share->Add(mean_);
  }
  return *leaf;
}

void FairShare::End(double seconds) {
  const double rest = seconds - expected_;
  FairShare* share = this;
  for (; share->parent_ != nullptr; share = share->parent_) {
    --share->under_way_;
    share->Add(rest);
    FairShare& parent = *share->parent_;
    parent.latest_ = std::max(parent.latest_, share->time_);
    if (parent.under_way_ == 1 && parent.waiting_.empty()) {
      parent.now_ = std::max(parent.now_, parent.latest_);  // All begin anew.
    }
  }
  --share->under_way_;
  share->mean_ += (share->mean_ == 0 ? 1 : kLatest) * (seconds - share->mean_);
}

}  // namespace scorecast::coordinator
