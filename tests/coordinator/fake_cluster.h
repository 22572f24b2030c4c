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

/// A cluster whose "model" is a hash: the logits of a row depend on the positions and tokens that
/// it sees, and on nothing else. Like a real cluster, it stores K/V by place and forgets pass-local
/// K/V when a pass ends. It aborts on a plan that breaks its limits or reads K/V that was never
/// stored. A wrong row, label, position or place, or a mix-up of two requests, therefore gives
/// wrong numbers.
class FakeCluster : public proto::Cluster {
 public:
  enum class Computes {
    kOnOwnThread,  ///< Plans are computed on a thread of the cluster, as soon as possible.
    kWhenTold,     ///< ComputeNext computes them. All calls come from one thread.
  };

  FakeCluster(const proto::PlanLimits& limits, std::int64_t vocab_size,
              Computes computes = Computes::kOnOwnThread);
  ~FakeCluster() override;

  void Submit(proto::ForwardPlan plan, PlanDone done) override;
  /// On two threads.
  void ParallelFor(std::int64_t count, const std::function<void(std::int64_t)>& task) override;
  const proto::PlanLimits& limits() const override { return limits_; }
  /// One rank, and the number of plans computed.
  proto::ClusterStatus Status() const override;

  /// Submitted plans wait until Release is called.
  void Hold();
  /// The same once `plans` more of them are computed.
  void HoldAfter(std::uint64_t plans);
  void Release();

  /// With kWhenTold: the plan to be computed next, if there is one.
  std::optional<proto::ForwardPlan> next() const;
  /// With kWhenTold: computes that plan and calls its `done`.
  void ComputeNext();

  /// From now on rows of this token give NaN.
  void BreakToken(proto::TokenId token);

  /// All plans submitted since ForgetPlans, in order.
  std::vector<proto::ForwardPlan> plans() const;
  void ForgetPlans();

 private:
  /// The row whose K/V is stored at a place. Position -1 means none.
  struct StoredRow {
    std::int32_t position = -1;
    proto::TokenId token = 0;
  };
  using Store = std::vector<StoredRow>;

  void Loop();
  /// Computes the plan that was submitted first, and calls its `done`. `lock`, which is held, is
  /// released meanwhile.
  void ComputeFirst(std::unique_lock<std::mutex>& lock);
  std::vector<proto::RowLogits> Compute(const proto::ForwardPlan& plan);
  void CheckPlan(const proto::ForwardPlan& plan) const;
  /// Checks that `rows` kept rows from `first` on are the first ones of a page.
  void CheckKept(std::int32_t first, std::int32_t rows) const;

  const proto::PlanLimits limits_;
  const std::int64_t vocab_size_;
  Store kept_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<proto::ForwardPlan, PlanDone>> queue_;
  std::vector<proto::ForwardPlan> plans_;
  std::optional<proto::TokenId> broken_token_;
  std::uint64_t plans_done_ = 0;
  bool held_ = false;
  std::optional<std::uint64_t> hold_at_;  ///< See HoldAfter; a value of `plans_done_`.
  bool stopping_ = false;
  std::thread thread_;
};

/// What FakeCluster must return for a read, computed from the sequence by itself: see proto::Sees.
proto::RowLogits ExpectedRow(const proto::PackedSequence& sequence, const proto::RowRead& read,
                             std::int64_t vocab_size);

}  // namespace scorecast::coordinator
