#include "shard/worker/watchdog.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace scorecast::shard {
namespace {

using Seconds = std::chrono::duration<double>;
using proto::RankState;

/// The longest time that one tick counts. The rest of a late tick's delay is forgiven.
constexpr Seconds kMostTick = 2 * Seconds(kReportPeriod);
/// A silence of this length is logged; half of the rank timeout if that is less.
constexpr Seconds kLoggedSilence = std::chrono::seconds(5);
/// Length of a silence after which reports that were only delayed have arrived.
constexpr Seconds kSilence = std::chrono::seconds(2);
/// Time that a rank computes while its CPU share is measured.
constexpr double kCpuWindow = 3;
/// Time between two warnings about the same rank's CPU share.
constexpr Seconds kSlowRankPause = std::chrono::minutes(1);

/// "7.5 s"
std::string Text(Seconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), time.count() < 9.95 ? "%.1f s" : "%.0f s", time.count());
  return text;
}

}  // namespace

Watchdog::Watchdog(const WatchLimits& limits, int own_rank, std::vector<std::string> hosts)
    : limits_(limits), own_rank_(static_cast<std::size_t>(own_rank)) {
  for (std::string& host : hosts) {
    ranks_.emplace_back();
    ranks_.back().host = std::move(host);
  }
}

std::string Watchdog::NameOf(std::size_t rank) const {
  return "rank " + std::to_string(rank) + " (host " + ranks_[rank].host + ")";
}

void Watchdog::Heard(int number, const RankReport& report) {
  Rank& rank = ranks_.at(static_cast<std::size_t>(number));
  const RankReport& last = rank.report;
  if (report.pass != last.pass || report.step != last.step || report.tasks != last.tasks ||
      report.is_in_pass() != last.is_in_pass()) {
    advanced_ = time_;
  }
  if (report.cpu_seconds != last.cpu_seconds) {
    rank.ran = time_;
  }
  rank.report = report;
  rank.heard = time_;
  MeasureCpu(rank);
}

void Watchdog::MeasureCpu(Rank& rank) {
  const double computed = rank.report.computed_seconds - rank.window_computed;
  if (computed >= kCpuWindow) {
    // The thread also takes CPU time while it waits, so the share may seem to exceed 1.
    rank.cpu_share = std::min(1.0, (rank.report.cpu_seconds - rank.window_cpu) / computed);
    rank.window_computed = rank.report.computed_seconds;
    rank.window_cpu = rank.report.cpu_seconds;
  }
}

Watchdog::Verdict Watchdog::Tick(Clock::time_point now) {
  if (last_tick_) {
    time_ += std::clamp<Seconds>(now - *last_tick_, Seconds(0), kMostTick);
  }
  last_tick_ = now;
  Verdict verdict;
  JudgeSilence(verdict);
  if (own_rank_ == 0) {
    JudgeCpu(verdict);
    JudgePass(verdict);
  }
  return verdict;
}

void Watchdog::JudgeSilence(Verdict& verdict) {
  const bool has_limit = limits_.rank_timeout.count() > 0;
  const Seconds logged =
      has_limit ? std::min(kLoggedSilence, limits_.rank_timeout / 2) : kLoggedSilence;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    if (!Watches(r)) {
      continue;
    }
    const Seconds silence = Silence(rank);
    if (has_limit && silence > limits_.rank_timeout && !verdict.end) {
      verdict.end = NameOf(r) + " has been silent for " + Text(silence) +
                    ", though it is connected: it is stopped, or its host hangs";
    } else if (silence > logged && !rank.is_silence_logged) {
      rank.is_silence_logged = true;
      verdict.warnings.push_back(NameOf(r) + " has been silent for " + Text(silence));
    } else if (silence < logged && rank.is_silence_logged) {
      rank.is_silence_logged = false;
      verdict.warnings.push_back(NameOf(r) + " is heard again");
    }
  }
}

void Watchdog::JudgeCpu(Verdict& verdict) {
  const auto is_slow = [](const Rank& rank) { return rank.cpu_share.value_or(1) < kLeastCpuShare; };
  const bool is_lone = ranks_.size() > 1 && std::ranges::count_if(ranks_, is_slow) == 1;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    if (is_slow(rank) && (!rank.slow_logged || time_ - *rank.slow_logged > kSlowRankPause)) {
      rank.slow_logged = time_;
      verdict.warnings.push_back(NameOf(r) + " is slow: its computing thread gets " +
                                 std::to_string(std::lround(*rank.cpu_share * 100)) +
                                 " % of a CPU" + (is_lone ? ", and the others wait for it" : ""));
    }
  }
}

void Watchdog::JudgePass(Verdict& verdict) {
  const RankReport& own = ranks_[own_rank_].report;
  if (!own.is_in_pass()) {
    advanced_ = time_;
    pass_ = 0;
    return;
  }
  if (own.pass != pass_) {
    pass_ = own.pass;
    pass_began_ = time_;
    pass_ticks_ = 0;
    next_slow_log_ =
        std::max<Seconds>(kLeastSlowPass, Seconds(limits_.slow_pass_factor * own.expected_seconds));
    for (Rank& rank : ranks_) {
      rank.lone_ticks = 0;
    }
  }
  ++pass_ticks_;
  CountLoneTicks();
  const std::string pass = "pass " + std::to_string(pass_);
  const Seconds still = time_ - advanced_;
  if (limits_.rank_timeout.count() > 0 && still > limits_.rank_timeout && !verdict.end) {
    verdict.end = pass + " is stuck: no rank has advanced for " + Text(still) + "; " + Obstacle();
  }
  const Seconds took = time_ - pass_began_;
  if (own.expected_seconds > 0 && took > next_slow_log_) {
    next_slow_log_ = 2 * took;
    verdict.warnings.push_back(pass + " is slow: it has taken " + Text(took) +
                               " so far, and about " + Text(Seconds(own.expected_seconds)) +
                               " were expected; " + Obstacle());
  }
}

bool Watchdog::IsAwaited(const Rank& rank) const {
  const bool is_done = rank.report.state == RankState::kIdle && rank.report.pass == pass_;
  return rank.report.state != RankState::kWaiting && !is_done;
}

void Watchdog::CountLoneTicks() {
  const auto awaited = [this](const Rank& rank) { return IsAwaited(rank); };
  if (std::count_if(ranks_.begin(), ranks_.end(), awaited) == 1) {
    ++std::find_if(ranks_.begin(), ranks_.end(), awaited)->lone_ticks;
  }
}

std::optional<std::size_t> Watchdog::StoppedThread() const {
  std::optional<std::size_t> stopped;
  int running = 0;
  int still = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].report.state != RankState::kWaiting) {
      continue;  // This rank is done with the pass, and sleeps.
    }
    if (time_ - ranks_[r].ran > kSilence) {
      stopped = r;
      ++still;
    } else {
      ++running;
    }
  }
  return still == 1 && running > 0 ? stopped : std::nullopt;
}

std::string Watchdog::Obstacle() const {
  const auto step = [](const Rank& rank) {
    return "step " + std::to_string(rank.report.step) + " of pass " +
           std::to_string(rank.report.pass);
  };
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (Watches(r) && Silence(ranks_[r]) > kSilence) {
      return NameOf(r) + " has been silent for " + Text(Silence(ranks_[r]));
    }
  }
  if (ranks_.size() == 1) {
    return NameOf(0) + " is at " + step(ranks_[0]);
  }
  const auto lone = static_cast<std::size_t>(
      std::max_element(ranks_.begin(), ranks_.end(),
                       [](const Rank& a, const Rank& b) { return a.lone_ticks < b.lone_ticks; }) -
      ranks_.begin());
  if (2 * ranks_[lone].lone_ticks > pass_ticks_) {
    return NameOf(lone) + " computes (" + step(ranks_[lone]) + ") while the others wait for it";
  }
  const auto last =
      static_cast<std::size_t>(std::min_element(ranks_.begin(), ranks_.end(),
                                                [](const Rank& a, const Rank& b) {
                                                  return std::pair(a.report.pass, a.report.step) <
                                                         std::pair(b.report.pass, b.report.step);
                                                }) -
                               ranks_.begin());
  const bool all_wait = std::none_of(ranks_.begin(), ranks_.end(),
                                     [this](const Rank& rank) { return IsAwaited(rank); });
  if (const std::optional<std::size_t> stopped = all_wait ? StoppedThread() : std::nullopt) {
    return NameOf(*stopped) + " does not run: its computing thread has had no CPU time for " +
           Text(time_ - ranks_[*stopped].ran) + " (" + step(ranks_[*stopped]) +
           "), and the others wait";
  }
  return (all_wait ? "all ranks wait for each other, and the furthest behind is "
                   : "no rank is waited for by all others; the furthest behind is ") +
         NameOf(last) + ", at " + step(ranks_[last]);
}

proto::ClusterStatus Watchdog::Status(const RankReport& own) const {
  proto::ClusterStatus status;
  status.passes_done = own.pass - (own.is_in_pass() ? 1 : 0);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    const bool is_own = r == own_rank_;
    const RankReport& report = is_own ? own : rank.report;
    const bool is_stale = is_startup_over_ && report.state == RankState::kStarting;
    status.ranks.push_back({rank.host, is_stale ? RankState::kIdle : report.state, report.pass,
                            report.step, is_own ? 0 : Silence(rank).count(), rank.cpu_share,
                            report.work});
  }
  return status;
}

}  // namespace scorecast::shard
