// The judgement of a watchdog, on a virtual clock.

#include "shard/worker/watchdog.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shard/worker/pass_times.h"

namespace scorecast::testing {
namespace watchdog_test {

using proto::RankState;
using shard::RankReport;
using shard::Watchdog;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A job whose ranks report as they are told. Its rank 0, or another one, has a watchdog.
class Job {
 public:
  Job(int ranks, const shard::WatchLimits& limits, int own_rank = 0)
      : reports(static_cast<std::size_t>(ranks)),
        is_silent(reports.size()),
        own_(own_rank),
        watchdog_(limits, own_rank, Hosts(ranks)) {}

  /// Runs for so many seconds, or until the watchdog ends the job.
  void Run(double seconds) {
    for (double left = seconds; left > 0 && end.empty(); left -= Period()) {
      now_ += shard::kReportPeriod;
      TickNow();
    }
  }

  /// The watchdog's process is stopped for so many seconds.
  void Stop(double seconds) {
    now_ += std::chrono::duration_cast<Watchdog::Clock::duration>(
        std::chrono::duration<double>(seconds));
  }

  void TickNow() {
    for (std::size_t r = 0; r < reports.size(); ++r) {
      RankReport& report = reports[r];
      if (report.state == RankState::kComputing) {
        report.computed_seconds += Period();
        report.cpu_seconds += Period() * cpu_share.at(r);
      } else if (report.state == RankState::kWaiting && polls) {
        report.cpu_seconds += 0.001 * cpu_share.at(r);
      }
      // On another rank, only rank 0's reports arrive.
      if (!is_silent[r] && (own_ == 0 || r == 0 || static_cast<int>(r) == own_)) {
        watchdog_.Heard(static_cast<int>(r), report);
      }
    }
    const Watchdog::Verdict verdict = watchdog_.Tick(now_);
    warnings.insert(warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
    if (verdict.end) {
      end = *verdict.end;
    }
  }

  void StartupIsOver() { watchdog_.StartupIsOver(); }

  void BeginPass(double expected_seconds) {
    for (RankReport& report : reports) {
      ++report.pass;
      report.step = 1;
      report.state = RankState::kComputing;
    }
    reports[0].expected_seconds = expected_seconds;
  }
  void EndPass() {
    for (RankReport& report : reports) {
      report.state = RankState::kIdle;
    }
  }

  proto::ClusterStatus Status() const {
    return watchdog_.Status(reports.at(static_cast<std::size_t>(own_)));
  }

  std::vector<RankReport> reports;
  std::vector<bool> is_silent;
  std::vector<double> cpu_share = std::vector<double>(8, 1.0);
  bool polls = false;  ///< Whether ranks that wait use CPU time.
  std::vector<std::string> warnings;
  std::string end;

 private:
  static double Period() { return std::chrono::duration<double>(shard::kReportPeriod).count(); }
  static std::vector<std::string> Hosts(int ranks) {
    std::vector<std::string> hosts;
    for (int r = 0; r < ranks; ++r) {
      hosts.emplace_back(1, static_cast<char>('a' + r));
    }
    return hosts;
  }

  int own_;
  Watchdog watchdog_;
  Watchdog::Clock::time_point now_{std::chrono::hours(1)};
};

shard::WatchLimits Timeout(double seconds) {
  return {.rank_timeout = std::chrono::duration<double>(seconds)};
}

TEST(Watchdog, SaysNothingOfAnIdleJob) {
  Job job(3, Timeout(30));
  job.EndPass();
  job.Run(1000);
  EXPECT_THAT(job.warnings, IsEmpty());
  EXPECT_EQ(job.end, "");
}

TEST(Watchdog, EndsTheJobOfASilentRank) {
  Job job(3, Timeout(30));
  job.Run(10);
  job.is_silent[2] = true;
  job.Run(29);
  EXPECT_THAT(job.warnings, ElementsAre("rank 2 (host c) has been silent for 5.2 s"));
  EXPECT_EQ(job.end, "");
  job.Run(2);
  EXPECT_THAT(job.end, HasSubstr("rank 2 (host c) has been silent for 30 s"));
}

TEST(Watchdog, ForgivesASilenceWithinTheLimit) {
  Job job(3, Timeout(30));
  job.Run(1);
  for (int i = 0; i < 3; ++i) {
    job.is_silent[1] = true;
    job.Run(29);
    job.is_silent[1] = false;
    job.Run(10);
  }
  EXPECT_EQ(job.end, "");
  EXPECT_THAT(job.warnings, SizeIs(6));
  EXPECT_EQ(job.warnings[1], "rank 1 (host b) is heard again");
}

TEST(Watchdog, OfAnotherRankWatchesRankZeroOnly) {
  Job job(3, Timeout(30), /*own_rank=*/1);
  job.BeginPass(1);
  job.Run(100);
  EXPECT_EQ(job.end, "");
  EXPECT_THAT(job.warnings, IsEmpty());
  job.is_silent[0] = true;
  job.Run(31);
  EXPECT_THAT(job.end, HasSubstr("rank 0 (host a) has been silent for 30 s"));
}

TEST(Watchdog, HasNoLimitIfTheTimeoutIsZero) {
  Job job(2, Timeout(0));
  job.BeginPass(1);
  job.is_silent[1] = true;
  job.Run(10000);
  EXPECT_EQ(job.end, "");
  EXPECT_THAT(job.warnings, ::testing::Contains(HasSubstr("rank 1 (host b) has been silent")));
}

// The machine was suspended, or this process was stopped: reports of that time are missing.
TEST(Watchdog, CountsOnlyTimeInWhichItRan) {
  Job job(2, Timeout(30));
  job.BeginPass(1);
  job.Run(1);
  job.Stop(3600);
  job.is_silent[1] = true;
  job.TickNow();
  job.Run(4);
  EXPECT_THAT(job.warnings, IsEmpty());
  job.is_silent[1] = false;
  job.Run(1);
  EXPECT_EQ(job.end, "");
  EXPECT_THAT(job.warnings, IsEmpty());
}

TEST(Watchdog, EndsAPassInWhichARankIsStuck) {
  Job job(3, Timeout(30));
  job.BeginPass(0);
  job.Run(1);
  job.reports[0].step = job.reports[1].step = 8;
  job.reports[2].step = 7;
  job.reports[0].state = job.reports[1].state = RankState::kWaiting;
  job.Run(29);
  EXPECT_EQ(job.end, "");
  job.Run(2);
  EXPECT_THAT(job.end, AllOf(HasSubstr("pass 1 is stuck: no rank has advanced for 30 s"),
                             HasSubstr("rank 2 (host c) computes (step 7 of pass 1) while the "
                                       "others wait for it")));
}

TEST(Watchdog, EndsAPassInWhichAllWait) {
  Job job(2, Timeout(30));
  job.BeginPass(0);
  job.Run(1);
  job.reports[0].state = job.reports[1].state = RankState::kWaiting;
  job.reports[0].step = 3;
  job.reports[1].step = 2;
  job.Run(31);
  EXPECT_THAT(job.end, HasSubstr("all ranks wait for each other, and the furthest behind is rank "
                                 "1 (host b), at step 2 of pass 1"));
}

// A thread that is stopped while it waits looks like one that waits, but uses no CPU time.
TEST(Watchdog, NamesARankWhoseThreadWasStoppedWhileItWaited) {
  for (const std::size_t stopped : {0U, 1U, 2U}) {
    Job job(3, Timeout(30));
    job.polls = true;
    job.BeginPass(0);
    job.Run(1);
    for (RankReport& report : job.reports) {
      report.state = RankState::kWaiting;
      report.step = 4;
    }
    job.Run(0.5);
    job.cpu_share[stopped] = 0;
    job.Run(31);
    EXPECT_THAT(job.end, HasSubstr("rank " + std::to_string(stopped)));
    EXPECT_THAT(job.end, HasSubstr("does not run: its computing thread has had no CPU time for 30 "
                                   "s (step 4 of pass 1), and the others wait"));
  }
}

// Either none of them is stopped, or it is not known which holds up the others.
TEST(Watchdog, NamesNoStoppedThreadIfThereIsNotExactlyOne) {
  for (const bool two_are_stopped : {false, true}) {
    Job job(3, Timeout(30));
    job.polls = true;
    job.BeginPass(0);
    job.Run(1);
    for (RankReport& report : job.reports) {
      report.state = RankState::kWaiting;
    }
    if (two_are_stopped) {
      job.cpu_share[1] = job.cpu_share[2] = 0;
    }
    job.Run(31);
    EXPECT_THAT(job.end, HasSubstr("all ranks wait for each other"));
  }
}

// A rank that is done with the pass sleeps.
TEST(Watchdog, DoesNotNameARankThatIsDone) {
  Job job(3, Timeout(30));
  job.polls = true;
  job.BeginPass(0);
  job.Run(1);
  job.reports[0].state = job.reports[1].state = RankState::kWaiting;
  job.reports[2].state = RankState::kIdle;
  job.reports[2].step = 9;
  job.reports[0].step = 8;
  job.reports[1].step = 7;
  job.Run(31);
  EXPECT_THAT(job.end, HasSubstr("the furthest behind is rank 1"));
}

TEST(Watchdog, NamesARankThatDidNotGetThePlan) {
  Job job(3, Timeout(30));
  job.EndPass();
  job.Run(1);
  job.BeginPass(0);
  job.reports[0].state = job.reports[2].state = RankState::kWaiting;
  job.reports[1].pass = 0;
  job.reports[1].state = RankState::kIdle;
  job.Run(31);
  EXPECT_THAT(job.end, HasSubstr("rank 1 (host b) computes (step 1 of pass 0)"));
}

// It takes hours, but its steps advance, or at least the tasks of a step.
TEST(Watchdog, NeverEndsALongPass) {
  Job job(2, Timeout(30));
  job.BeginPass(10);
  job.reports[1].state = RankState::kWaiting;
  for (int i = 0; i < 300; ++i) {
    job.Run(25);
    ++job.reports[0].tasks;
    job.Run(25);
    ++job.reports[0].step;
  }
  EXPECT_EQ(job.end, "");
  EXPECT_THAT(job.warnings, ::testing::Contains(HasSubstr("pass 1 is slow: it has taken 100 s so "
                                                          "far, and about 10 s were expected; rank "
                                                          "0 (host a) computes")));
  EXPECT_LT(job.warnings.size(), 12U) << "a warning each time that the pass took twice as long";
}

TEST(Watchdog, LogsNoPassBelowFiveSecondsAsSlow) {
  Job job(2, Timeout(30));
  for (int pass = 0; pass < 10; ++pass) {
    job.BeginPass(0.001);
    job.Run(4.5);
    job.EndPass();
    job.Run(1);
  }
  EXPECT_THAT(job.warnings, IsEmpty());
}

TEST(Watchdog, NamesTheSilentRankOfASlowPass) {
  Job job(3, {.rank_timeout = std::chrono::seconds(30), .slow_pass_factor = 2});
  job.BeginPass(1);
  job.reports[0].state = job.reports[1].state = RankState::kWaiting;
  job.is_silent[2] = true;
  job.Run(6);
  EXPECT_THAT(job.warnings,
              ::testing::Contains(AllOf(HasSubstr("pass 1 is slow"),
                                        HasSubstr("rank 2 (host c) has been silent for"))));
}

TEST(Watchdog, WatchesTheOnlyRank) {
  Job job(1, Timeout(30));
  job.BeginPass(1);
  job.Run(19);
  EXPECT_THAT(job.warnings, ElementsAre(HasSubstr("rank 0 (host a) is at step 1 of pass 1")));
  EXPECT_EQ(job.end, "");
  job.Run(13);
  EXPECT_THAT(job.end, HasSubstr("pass 1 is stuck"));
}

TEST(Watchdog, NamesARankThatGetsTooLittleCpu) {
  Job job(2, Timeout(30));
  job.BeginPass(0);
  job.cpu_share[1] = 0.1;
  for (int i = 0; i < 100; ++i) {
    ++job.reports[1].step;
    job.Run(1);
  }
  EXPECT_THAT(job.warnings,
              ElementsAre(AllOf(HasSubstr("rank 1 (host b) is slow"), HasSubstr(" 10 % of a CPU")),
                          HasSubstr("rank 1 (host b) is slow")))
      << "once a minute";
  EXPECT_EQ(job.end, "");
  const proto::ClusterStatus status = job.Status();
  EXPECT_NEAR(status.ranks[1].cpu_share.value_or(0), 0.1, 1e-6);
  EXPECT_NEAR(status.ranks[0].cpu_share.value_or(0), 1, 1e-6);
}

TEST(Watchdog, SaysThatOthersWaitOnlyIfOneRankGetsTooLittleCpu) {
  for (const double share_of_rank_0 : {1.0, 0.1}) {
    Job job(2, Timeout(30));
    job.cpu_share = {share_of_rank_0, 0.1};
    job.BeginPass(1);
    job.Run(4);
    ASSERT_FALSE(job.warnings.empty());
    const bool is_lone = share_of_rank_0 == 1.0;
    EXPECT_EQ(job.warnings.size(), is_lone ? 1U : 2U);
    EXPECT_EQ(job.warnings.back().ends_with(", and the others wait for it"), is_lone)
        << job.warnings.back();
  }
}

// The first reports after start-up may be late.
TEST(Watchdog, KnowsThatStartupIsOverBeforeTheRanksReportIt) {
  Job job(2, Timeout(30));
  job.Run(1);
  EXPECT_EQ(job.Status().ranks[1].state, RankState::kStarting);
  job.StartupIsOver();
  EXPECT_EQ(job.Status().ranks[1].state, RankState::kIdle);
  job.Run(1);
  EXPECT_EQ(job.Status().ranks[1].state, RankState::kIdle);
  job.BeginPass(0);
  job.Run(1);
  EXPECT_EQ(job.Status().ranks[1].state, RankState::kComputing);
}

TEST(Watchdog, KnowsTheStatus) {
  Job job(2, Timeout(30));
  EXPECT_EQ(job.Status().ranks[1].state, RankState::kStarting);
  job.BeginPass(0);
  job.reports[1].state = RankState::kWaiting;
  job.reports[1].step = 5;
  job.reports[1].work.compute_seconds = 7;
  job.Run(1);
  job.is_silent[1] = true;
  job.Run(2);
  proto::ClusterStatus status = job.Status();
  EXPECT_EQ(status.passes_done, 0U);
  ASSERT_THAT(status.ranks, SizeIs(2));
  EXPECT_EQ(status.ranks[1].host, "b");
  EXPECT_EQ(status.ranks[1].state, RankState::kWaiting);
  EXPECT_EQ(status.ranks[1].pass, 1U);
  EXPECT_EQ(status.ranks[1].step, 5U);
  EXPECT_NEAR(status.ranks[1].seconds_since_heard, 2, 0.3);
  EXPECT_FALSE(status.ranks[1].cpu_share.has_value());
  EXPECT_EQ(status.ranks[1].work.compute_seconds, 7);
  job.EndPass();
  job.Run(1);
  EXPECT_EQ(job.Status().passes_done, 1U);
}

TEST(PassTimes, FollowFromPassesBefore) {
  shard::PassTimes times;
  EXPECT_EQ(times.Expected(64), 0);
  times.Add(64, 1);
  EXPECT_EQ(times.Expected(64), 1);
  EXPECT_EQ(times.Expected(32), 1) << "the next larger bucket";
  EXPECT_EQ(times.Expected(256), 4) << "in proportion";
  times.Add(256, 2);
  EXPECT_EQ(times.Expected(256), 2);
  EXPECT_EQ(times.Expected(128), 2);
  for (int i = 0; i < 50; ++i) {
    times.Add(64, 3);
  }
  EXPECT_NEAR(times.Expected(64), 3, 1e-3);
}

}  // namespace watchdog_test
}  // namespace scorecast::testing
