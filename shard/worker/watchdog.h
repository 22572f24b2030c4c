#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/plan/cluster_status.h"
#include "proto/plan/rank_work.h"

namespace scorecast::shard {

/// What a rank reports about itself several times a second. It is sent as it lies in memory,
/// because all ranks run the same build on one kind of machine.
struct RankReport {
  proto::RankState state = proto::RankState::kStarting;
  std::uint32_t step = 0;       ///< Exchanges of the pass that have begun.
  std::uint64_t pass = 0;       ///< Passes that have begun.
  std::uint64_t tasks = 0;      ///< Changes from report to report if tasks were begun.
  double computed_seconds = 0;  ///< Time in which the computing thread did not wait.
  double cpu_seconds = 0;       ///< CPU time of the computing thread.
  double expected_seconds = 0;  ///< Expected time of this pass; 0: unknown. Set only by rank 0.
  proto::RankWork work;

  bool is_in_pass() const {
    return state == proto::RankState::kComputing || state == proto::RankState::kWaiting;
  }
};

/// How often a rank reports, and how often its watchdog checks.
inline constexpr std::chrono::milliseconds kReportPeriod{250};

struct WatchLimits {
  /// Time for which a rank may be silent, or no rank may advance in a pass, before the job ends. 0:
  /// without limit.
  std::chrono::duration<double> rank_timeout = std::chrono::seconds(30);
  /// A pass is logged as slow if it takes this many times as long as expected, and at least
  /// kLeastSlowPass.
  double slow_pass_factor = 10;
};

inline constexpr std::chrono::duration<double> kLeastSlowPass = std::chrono::seconds(5);
/// A rank whose computing thread gets less than this share of a CPU is logged as slow.
inline constexpr double kLeastCpuShare = 0.2;

/// Judges from the ranks' reports whether the job has to end. It has no threads and no clock of its
/// own. Rank 0 watches all others and its own pass. Each other rank watches rank 0, for silence
/// only.
///
/// Time is counted only while the watchdog itself runs: if its tick is late, because this process
/// or the whole machine was stopped, the delay is forgiven. A suspended machine therefore comes
/// back without harm.
///
/// A rank is silent if no reports of it arrive, because its process is stopped or its host is cut
/// off. A pass is stuck if no rank begins a step or a task of it. A pass that is merely long is
/// never stuck.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  struct Verdict {
    std::vector<std::string> warnings;
    std::optional<std::string> end;  ///< Why the job has to end. nullopt: it goes on.
  };

  /// `hosts` has the host of each rank.
  Watchdog(const WatchLimits& limits, int own_rank, std::vector<std::string> hosts);

  /// Called when a report arrives. On rank 0 it is also called with rank 0's own report before each
  /// Tick.
  void Heard(int rank, const RankReport& report);
  /// Called when every rank has started. A rank counts as idle until a newer report arrives.
  void StartupIsOver() { is_startup_over_ = true; }
  /// Called every kReportPeriod.
  Verdict Tick(Clock::time_point now);

  /// On other ranks than rank 0 it is incomplete. `own` is this rank's report at this moment.
  proto::ClusterStatus Status(const RankReport& own) const;

 private:
  using Seconds = std::chrono::duration<double>;

  struct Rank {
    std::string host;
    RankReport report;
    Seconds heard{0};
    Seconds ran{0};  ///< When the computing thread's CPU time last grew.
    bool is_silence_logged = false;
    /// Number of ticks of the pass in flight at which this rank computed and all others waited.
    int lone_ticks = 0;
    // The window of time in which the CPU share is measured.
    double window_computed = 0;
    double window_cpu = 0;
    std::optional<double> cpu_share;
    std::optional<Seconds> slow_logged;
  };

  bool Watches(std::size_t rank) const {
    return rank != own_rank_ && (own_rank_ == 0 || rank == 0);
  }
  Seconds Silence(const Rank& rank) const { return time_ - rank.heard; }
  std::string NameOf(std::size_t rank) const;
  void MeasureCpu(Rank& rank);
  void JudgeSilence(Verdict& verdict);
  void JudgeCpu(Verdict& verdict);
  void JudgePass(Verdict& verdict);
  void CountLoneTicks();
  /// Whether other ranks may be waiting for this one in the pass in flight.
  bool IsAwaited(const Rank& rank) const;
  /// If all ranks seem to wait for each other: the only one whose computing thread gets no CPU
  /// time, if there is exactly one. (A waiting thread gets some, because it looks for messages at
  /// least every millisecond.)
  std::optional<std::size_t> StoppedThread() const;
  /// What holds up the pass in flight, e.g. "rank 1 (host b) computes while the others wait, …".
  std::string Obstacle() const;

  const WatchLimits limits_;
  const std::size_t own_rank_;
  std::vector<Rank> ranks_;
  bool is_startup_over_ = false;

  std::optional<Clock::time_point> last_tick_;
  Seconds time_{0};  ///< Time in which this watchdog ran.

  // The pass in flight.
  std::uint64_t pass_ = 0;
  Seconds pass_began_{0};
  int pass_ticks_ = 0;
  Seconds advanced_{0};  ///< When a rank's step or tasks last changed.
  Seconds next_slow_log_{0};
};

}  // namespace scorecast::shard
