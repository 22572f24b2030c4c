#include "coordinator/front/replica_load.h"

#include <algorithm>
#include <chrono>

namespace scorecast::coordinator {

void ReplicaLoad::See(Sent& sent) {
  if (sent.is_unseen) {
    sent.is_unseen = false;
    unseen_seconds_ -= sent.seconds;
    if (--unseen_ == 0) {
      unseen_seconds_ = 0;  // Without the rounding of all that was added and subtracted.
    }
  }
}

void ReplicaLoad::OnStatus(double predicted_seconds, bool is_usable, Clock::time_point now,
                           std::size_t running_completions) {
  predicted_seconds_ = std::max(predicted_seconds, 0.0);
  running_completions_ = running_completions;
  is_usable_ = is_usable && !drains_;
  is_full_ = false;
  while (!unseen_ids_.empty()) {
    const auto sent = sent_.find(unseen_ids_.front());
    if (sent != sent_.end()) {
      if (sent->second.at + kLag > now) {
        break;
      }
      See(sent->second);
    }
    unseen_ids_.pop_front();
  }
}

void ReplicaLoad::OnLost() {
  is_usable_ = false;
  drains_ = false;
  is_full_ = false;
  present_.clear();
  running_completions_ = 0;
  predicted_seconds_ = 0;
  unseen_seconds_ = 0;
  unseen_ = 0;
  sent_.clear();
  unseen_ids_.clear();
  pieces_.Clear();
}

void ReplicaLoad::OnSent(std::uint64_t id, double seconds, std::span<const BodyPiece> pieces,
                         Clock::time_point now) {
  Advance(now);
  present_[id] = share_;
  sent_[id] = {now, seconds};
  unseen_ids_.push_back(id);
  unseen_seconds_ += seconds;
  ++unseen_;
  pieces_.Add(pieces);
}

double ReplicaLoad::OnAnswered(std::uint64_t id, Clock::time_point now) {
  const auto sent = sent_.find(id);
  if (sent == sent_.end()) {
    return 0;
  }
  const Clock::time_point begun = std::max(sent->second.at, last_answer_);
  last_answer_ = now;
  See(sent->second);
  sent_.erase(sent);
  return std::chrono::duration<double>(now - begun).count();
}

void ReplicaLoad::Advance(Clock::time_point now) {
  if (!present_.empty() && now > share_at_) {
    share_ += std::chrono::duration<double>(now - share_at_).count() /
              static_cast<double>(present_.size());
  }
  share_at_ = std::max(share_at_, now);
}

double ReplicaLoad::UsedBy(std::uint64_t id, Clock::time_point now) {
  const auto found = present_.find(id);
  if (found == present_.end()) {
    return 0;
  }
  Advance(now);
  return share_ - found->second;
}

void ReplicaLoad::OnEnded(std::uint64_t id, Clock::time_point now) {
  Advance(now);
  present_.erase(id);
  const auto sent = sent_.find(id);
  if (sent != sent_.end()) {
    See(sent->second);
    sent_.erase(sent);
  }
}

}  // namespace scorecast::coordinator
