#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "proto/plan/cluster_status.h"
#include "proto/plan/rank_work.h"

namespace scorecast::shard {

/// How far the computing thread of this rank is. Only that thread writes it; any thread may read
/// it. All stores are relaxed, so that they cost next to nothing. Values that are read together may
/// therefore differ by a step.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// Called when start-up is over, and the rank has nothing to compute yet.
  void BecomeIdle() { Set(proto::RankState::kIdle); }

  /// `expected_seconds` is 0 if it is unknown how long the pass takes.
  void BeginPass(double expected_seconds) {
    expected_seconds_.store(expected_seconds, std::memory_order_relaxed);
    step_.store(0, std::memory_order_relaxed);
    pass_.store(pass() + 1, std::memory_order_relaxed);
    Compute(Clock::now());
  }
  void EndPass() {
    CountComputed(Clock::now());
    Set(proto::RankState::kIdle);
  }

  /// The next step of a pass begins. In it, the rank waits for other ranks.
  void BeginWait(Clock::time_point now) {
    CountComputed(now);
    NextStep();
    wait_began_ = now;
    Set(proto::RankState::kWaiting);
  }
  /// The step ends. It was this operation, and the rank has received `bytes` bytes of other ranks.
  void EndWait(Clock::time_point now, proto::RankOperation operation, std::uint64_t bytes) {
    Cost& cost = costs_[static_cast<std::size_t>(operation)];
    Add(cost.bytes, bytes);
    Add(cost.time, (now - wait_began_).count());
    Compute(now);
  }
  /// The next step begins. In it, there is no other rank to wait for.
  void NextStep() {
    step_.store(step_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  proto::RankState state() const { return state_.load(std::memory_order_relaxed); }
  std::uint64_t pass() const { return pass_.load(std::memory_order_relaxed); }
  std::uint32_t step() const { return step_.load(std::memory_order_relaxed); }
  double expected_seconds() const { return expected_seconds_.load(std::memory_order_relaxed); }

  /// Time in which the rank has computed and not waited.
  double ComputedSeconds(Clock::time_point now) const {
    const bool computes = state() == proto::RankState::kComputing;
    const Clock::rep since = since_.load(std::memory_order_relaxed);
    Clock::duration computed(computed_.load(std::memory_order_relaxed));
    if (computes) {
      computed += now.time_since_epoch() - Clock::duration(since);
    }
    return std::chrono::duration<double>(computed).count();
  }

  proto::RankWork Work() const {
    proto::RankWork work;
    work.compute_seconds = Seconds(computed_);
    for (const proto::RankOperation operation : proto::kRankOperations) {
      const Cost& cost = costs_[static_cast<std::size_t>(operation)];
      work.of(operation) = {cost.bytes.load(std::memory_order_relaxed), Seconds(cost.time)};
    }
    return work;
  }

 private:
  struct Cost {
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<Clock::rep> time = 0;
  };

  static double Seconds(const std::atomic<Clock::rep>& time) {
    return std::chrono::duration<double>(Clock::duration(time.load(std::memory_order_relaxed)))
        .count();
  }
  /// No atomic addition is needed, because only one thread writes.
  template <typename Value>
  static void Add(std::atomic<Value>& sum, Value more) {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  void Set(proto::RankState state) { state_.store(state, std::memory_order_relaxed); }
  void Compute(Clock::time_point now) {
    since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    Set(proto::RankState::kComputing);
  }
  void CountComputed(Clock::time_point now) {
    Add(computed_, now.time_since_epoch().count() - since_.load(std::memory_order_relaxed));
  }

  std::atomic<proto::RankState> state_ = proto::RankState::kStarting;
  std::atomic<std::uint64_t> pass_ = 0;
  std::atomic<std::uint32_t> step_ = 0;
  std::atomic<double> expected_seconds_ = 0;
  std::atomic<Clock::rep> since_ = 0;     // When the rank began to compute.
  std::atomic<Clock::rep> computed_ = 0;  // Time computed up to the last wait.
  Clock::time_point wait_began_;          // Only the computing thread uses it.
  std::array<Cost, proto::kRankOperations.size()> costs_;
};

}  // namespace scorecast::shard
