#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "coordinator/schedule/pass/pass_work.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "proto/plan/forward_plan.h"
#include "tests/coordinator/fake_cluster.h"

namespace scorecast::coordinator {

/// What a plan computes: [sequences].
std::vector<PassWork> WorkOf(const proto::ForwardPlan& plan);

/// A scheduler on a FakeCluster, both on a virtual clock. Passes, and what the test does meanwhile,
/// are events of the calling thread, so the same options give the same run.
class Simulation {
 public:
  /// A pass that has ended.
  struct Pass {
    double begin = 0;
    double end = 0;
    std::vector<PassWork> work;  ///< [sequences]
    proto::ForwardPlan plan;
  };

  struct Options {
    proto::PlanLimits limits;
    SchedulerOptions scheduler;  ///< `now` is replaced.
    PassRates rates;             ///< What passes really take,
    double noise = 0;            ///< times a random factor between 1 - noise and 1 + noise.
    /// One in so many passes changes the speed of the cluster by a random factor, for itself and
    /// all that follow, as when other programs use the CPUs; 0: none does.
    int speed_changes_one_in = 0;
    std::uint64_t seed = 0;
    /// Called at the end of each pass, before its results are handed over.
    std::function<void(const Pass&)> on_pass = [](const Pass&) {};
  };

  explicit Simulation(Options options);

  /// Seconds since the beginning.
  double now() const { return now_; }
  Clock::time_point TimePoint(double seconds) const;

  /// Calls `event` at this time, which is not in the past. Events of one time keep their order.
  void At(double seconds, std::function<void()> event);
  /// Returns when no pass is in flight and no event is left.
  void Run();

  Scheduler& scheduler() { return scheduler_; }
  const Options& options() const { return options_; }

 private:
  SchedulerOptions OnVirtualClock(SchedulerOptions options) const;
  void BeginPass(proto::ForwardPlan plan);

  const Options options_;
  std::mt19937_64 random_;
  double now_ = 0;
  double slowness_ = 1;  ///< By which the rates are multiplied.
  bool is_pass_in_flight_ = false;
  std::multimap<double, std::function<void()>> events_;
  FakeCluster cluster_;
  Scheduler scheduler_;
};

}  // namespace scorecast::coordinator
