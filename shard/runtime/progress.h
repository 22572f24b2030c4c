#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "proto/plan/cluster_status.h"

namespace scorecast::shard {

/// How far the computing thread of this rank is. Only that thread writes it; any thread may read
/// it. All stores are relaxed, so that they cost next to nothing. Values that are read together may
/// therefore differ by a step.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// Start-up is over: the rank has nothing to compute yet.
  void BecomeIdle() { Set(proto::RankState::kIdle); }

  /// `expected_seconds` is 0 if nothing is known of how long the pass takes.
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

  /// The next step of a pass begins: the rank waits for the others.
  void BeginWait(Clock::time_point now) {
    CountComputed(now);
    NextStep();
    Set(proto::RankState::kWaiting);
  }
  void EndWait(Clock::time_point now) { Compute(now); }
  /// The next step begins, and there is no other rank to wait for.
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

 private:
  void Set(proto::RankState state) { state_.store(state, std::memory_order_relaxed); }
  void Compute(Clock::time_point now) {
    since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    Set(proto::RankState::kComputing);
  }
  void CountComputed(Clock::time_point now) {
    computed_.store(computed_.load(std::memory_order_relaxed) + now.time_since_epoch().count() -
                        since_.load(std::memory_order_relaxed),
                    std::memory_order_relaxed);
  }

  std::atomic<proto::RankState> state_ = proto::RankState::kStarting;
  std::atomic<std::uint64_t> pass_ = 0;
  std::atomic<std::uint32_t> step_ = 0;
  std::atomic<double> expected_seconds_ = 0;
  std::atomic<Clock::rep> since_ = 0;     // When it began to compute.
  std::atomic<Clock::rep> computed_ = 0;  // Up to the last wait.
};

}  // namespace scorecast::shard
