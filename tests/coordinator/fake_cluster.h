#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "proto/plan/cluster.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// A cluster whose "model" is a hash: the logits of a row follow from the positions and tokens that
/// it sees, and from nothing else. It keeps K/V as a real one does, by places, forgets what is not
/// kept when a pass ends, and aborts on a plan that breaks its limits or reads what nobody stored.
/// So a wrong row, label, position or place, or two requests mixed up, gives wrong numbers.
class FakeCluster : public proto::Cluster {
 public:
  FakeCluster(const proto::PlanLimits& limits, std::int64_t vocab_size);
  ~FakeCluster() override;

  void Submit(proto::ForwardPlan plan, PlanDone done) override;
  const proto::PlanLimits& limits() const override { return limits_; }

  /// Plans that come wait, until they are released.
  void Hold();
  void Release();

  /// Rows of this token give NaN.
  void BreakToken(proto::TokenId token);

  /// Every plan that came, in order.
  std::vector<proto::ForwardPlan> plans() const;
  void ForgetPlans();

 private:
  /// A row as K/V remembers it; position -1: never stored.
  struct StoredRow {
    std::int32_t position = -1;
    proto::TokenId token = 0;
  };
  using Store = std::vector<StoredRow>;

  void Loop();
  std::vector<proto::RowLogits> Compute(const proto::ForwardPlan& plan);
  void CheckPlan(const proto::ForwardPlan& plan) const;

  const proto::PlanLimits limits_;
  const std::int64_t vocab_size_;
  Store kept_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<proto::ForwardPlan, PlanDone>> queue_;
  std::vector<proto::ForwardPlan> plans_;
  std::optional<proto::TokenId> broken_token_;
  bool held_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

/// What FakeCluster must answer for a read, from the sequence itself by the rule of who sees whom.
proto::RowLogits ExpectedRow(const proto::PackedSequence& sequence, const proto::RowRead& read,
                             std::int64_t vocab_size);

}  // namespace scorecast::coordinator
