// The scheduler under random schedules: jobs of all kinds from many clients, cancelled and dropped,
// with few pages and small passes. A run on the virtual clock is repeated by its seed: set
// SCORECAST_SCHEDULE_SEED to compute only that one, and SCORECAST_SCHEDULE_RUNS to compute more.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "tests/coordinator/schedule/queue/simulation.h"
#include "tests/coordinator/schedule/random_jobs.h"
#include "tests/coordinator/schedule/sample_requests.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace random_schedule_test {

using proto::PlanLimits;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}

  std::uint64_t Seed() { return random_(); }
  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  bool OneIn(int n) { return Pick(1, n) == 1; }
  /// A waiting time with this mean.
  double Wait(double mean) { return std::exponential_distribution(1 / mean)(random_); }
  template <typename Values>
  auto From(const Values& values) {
    return values[static_cast<std::size_t>(Pick(0, static_cast<int>(std::size(values)) - 1))];
  }

 private:
  std::mt19937_64 random_;
};

PlanLimits RandomLimits(Random& random) {
  const int pages = random.OneIn(3) ? random.Pick(4, 12) : random.Pick(12, 80);
  return {.max_rows = random.Pick(1, random.From(std::array{20, 60, 700})),
          .max_reads = random.Pick(5, 60),
          .pass_kv_rows = proto::kKvGranule * random.Pick(1, 60),
          .kept_kv_rows = proto::kKvPageRows * pages};
}

SchedulerOptions RandomOptions(Random& random, const PlanLimits& limits, const PassRates& rates) {
  const int pages = limits.kept_kv_rows / proto::kKvPageRows;
  SchedulerOptions options;
  options.cached_pages = random.From(std::array{0, 1, pages / 4, pages});
  if (random.OneIn(4)) {
    options.max_queue = static_cast<std::size_t>(random.Pick(1, 20));
  }
  options.max_pass_seconds =
      random.From(std::array{kInfinity, 1e-12, 20 * rates.overhead, 200 * rates.row,
                             rates.Seconds({.rows = limits.max_rows}) / 3, 1.0});
  if (random.OneIn(2)) {
    options.time_model = PassTimeModel(rates);
  }
  return options;
}

PassRates RandomRates(Random& random) {
  return {.overhead = random.From(std::array{1e-5, 1e-3, 1e-2}),
          .row = random.From(std::array{1e-6, 1e-4, 1e-3}),
          .key = random.From(std::array{0.0, 1e-8, 1e-6}),
          .read = random.From(std::array{0.0, 1e-5, 1e-3})};
}

/// One run on the virtual clock.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed)
      : random_(seed),
        limits_(RandomLimits(random_)),
        rates_(RandomRates(random_)),
        simulation_({.limits = limits_,
                     .scheduler = RandomOptions(random_, limits_, rates_),
                     .rates = rates_,
                     .noise = random_.From(std::array{0.0, 0.1, 0.9}),
                     .speed_changes_one_in = random_.From(std::array{0, 4, 40}),
                     .seed = random_.Seed(),
                     .on_pass = [this](const Simulation::Pass& pass) { CheckPass(pass); }}) {}

  void Compute() {
    AddClients();
    simulation_.Run();
    CheckIdle();
    CheckAllPagesAreFree();
  }

  /// What happened.
  struct Counts {
    std::int64_t jobs = 0;
    std::int64_t computed = 0;  ///< Jobs that were computed to their end.
    std::int64_t cancelled = 0;
    std::int64_t refused = 0;
    std::int64_t passes = 0;
    std::int64_t cached_tokens = 0;  ///< Of the jobs that were computed.
    std::int64_t copies = 0;         ///< Of pages.
    std::int64_t evicted = 0;        ///< Pages.

    Counts& operator+=(const Counts& other) {
      jobs += other.jobs;
      computed += other.computed;
      cancelled += other.cancelled;
      refused += other.refused;
      passes += other.passes;
      cached_tokens += other.cached_tokens;
      copies += other.copies;
      evicted += other.evicted;
      return *this;
    }
    friend std::ostream& operator<<(std::ostream& out, const Counts& counts) {
      return out << counts.jobs << " jobs: " << counts.computed << " computed, " << counts.cancelled
                 << " cancelled, " << counts.refused << " refused; " << counts.passes << " passes; "
                 << counts.cached_tokens << " cached tokens, " << counts.copies << " copies, "
                 << counts.evicted << " pages evicted";
    }
  };
  const Counts& counts() const { return counts_; }

 private:
  /// Keeps jobs in flight, or submits them at random times, until none is left.
  struct Client {
    ClientId id;
    std::int32_t priority = 0;
    RandomJobMaker maker;
    int jobs_left = 0;
    double pause = 0;  ///< Mean time between two jobs.
    bool waits_for_results = false;
    int cancels_one_in = 0;  ///< Cancels one in this many of its jobs.
    bool has_deadlines = false;
    std::vector<JobTicket> tickets;
  };

  struct Submitted {
    RandomJob job;
    double submitted = 0;
    JobTicket ticket = Scheduler::kNoTicket;
    int replies = 0;
    bool is_cancelled = false;
    bool has_deadline = false;
  };

  void AddClients();
  void Submit(Client& client);
  void Reply(Client& client, Submitted& submitted, const JobResult& result);
  void Cancel(Submitted& submitted);
  void CheckPass(const Simulation::Pass& pass);
  void CheckIdle();
  void CheckAllPagesAreFree();

  Random random_;
  const PlanLimits limits_;
  const PassRates rates_;
  std::deque<Client> clients_;
  std::deque<Submitted> jobs_;
  Counts counts_;
  Simulation simulation_;
};

void Schedule::AddClients() {
  const double second = 100 * (rates_.overhead + rates_.Seconds({.rows = 30, .keys = 1000}));
  for (int clients = random_.Pick(1, 12); clients > 0; --clients) {
    Client& client = clients_.emplace_back(
        Client{.id = {"address " + std::to_string(random_.Pick(1, 4)),
                      static_cast<std::uint64_t>(random_.Pick(0, 3))},
               .priority = random_.OneIn(3) ? random_.Pick(kMinPriority, kMaxPriority) : 0,
               .maker = RandomJobMaker(random_.Seed(), limits_),
               .jobs_left = random_.Pick(1, 30),
               .pause = second * random_.From(std::array{1e-3, 0.1, 1.0}),
               .waits_for_results = random_.OneIn(2),
               .cancels_one_in = random_.From(std::array{1000, 10, 2}),
               .has_deadlines = random_.OneIn(4),
               .tickets = {}});
    const double start = random_.OneIn(2) ? 0 : random_.Wait(second);
    for (int in_flight = random_.From(std::array{1, 3, 16}); in_flight > 0; --in_flight) {
      simulation_.At(start, [&] { Submit(client); });
    }
    if (random_.OneIn(6)) {  // It closes its connection.
      simulation_.At(start + random_.Wait(second), [&] {
        client.jobs_left = 0;
        for (Submitted& submitted : jobs_) {
          const bool is_own =
              std::ranges::find(client.tickets, submitted.ticket) != client.tickets.end();
          submitted.is_cancelled = submitted.is_cancelled || (is_own && submitted.replies == 0);
        }
        simulation_.scheduler().Cancel(client.tickets);
      });
    }
  }
}

void Schedule::Submit(Client& client) {
  if (client.jobs_left == 0) {
    return;
  }
  --client.jobs_left;
  ++counts_.jobs;
  Submitted& submitted =
      jobs_.emplace_back(Submitted{.job = client.maker.Make(), .submitted = simulation_.now()});
  Job job = submitted.job.MakeJob(
      [this, &client, &submitted](const JobResult& result) { Reply(client, submitted, result); });
  job.client = client.id;
  job.priority = client.priority;
  if (client.has_deadlines) {
    submitted.has_deadline = true;
    const double deadline = simulation_.now() + random_.Wait(3 * client.pause);
    job.deadline = simulation_.TimePoint(deadline);
    simulation_.At(deadline, [this, &submitted] { Cancel(submitted); });
  }
  if (random_.OneIn(client.cancels_one_in)) {
    simulation_.At(simulation_.now() + random_.Wait(client.pause),
                   [this, &submitted] { Cancel(submitted); });
  }
  submitted.ticket = simulation_.scheduler().Submit(std::move(job));
  client.tickets.push_back(submitted.ticket);
  if (!client.waits_for_results) {
    simulation_.At(simulation_.now() + random_.Wait(client.pause), [&] { Submit(client); });
  }
}

void Schedule::Reply(Client& client, Submitted& submitted, const JobResult& result) {
  SCOPED_TRACE("job " + std::to_string(submitted.ticket));
  ++submitted.replies;
  EXPECT_LE(simulation_.TimePoint(submitted.submitted), result.started);
  EXPECT_LE(result.started, result.finished);
  EXPECT_EQ(result.finished, simulation_.TimePoint(simulation_.now()));
  if (result.rows.has_value()) {
    ++counts_.computed;
    counts_.cached_tokens += result.cached_tokens;
    ExpectAsIfAlone(submitted.job, result);
  } else {
    const int code = result.rows.error().code;
    EXPECT_TRUE((code == 499 && submitted.is_cancelled) || code == 429) << code;
    ++(code == 499 ? counts_.cancelled : counts_.refused);
    ExpectTokensAsIfAlone(submitted.job, /*is_dropped=*/true);
  }
  if (!client.waits_for_results) {
    return;
  }
  if (result.rows.has_value() && random_.OneIn(2)) {
    Submit(client);
  } else {
    simulation_.At(simulation_.now() + random_.Wait(client.pause), [&] { Submit(client); });
  }
}

void Schedule::Cancel(Submitted& submitted) {
  submitted.is_cancelled = submitted.is_cancelled || submitted.replies == 0;
  simulation_.scheduler().Cancel({submitted.ticket});
}

void Schedule::CheckPass(const Simulation::Pass& pass) {
  counts_.copies += static_cast<std::int64_t>(pass.plan.copies.size());
  const auto unfinished = std::ranges::count(jobs_, 0, &Submitted::replies);
  const SchedulerStatus status = simulation_.scheduler().status();
  EXPECT_LE(status.waiting_jobs, unfinished);
  const PassTimes& times = status.pass_times;
  double seconds = 0;
  double longest = 0;
  for (const PassWork& work : pass.work) {
    seconds += times.rates.Seconds(work);
    longest = std::max(longest, times.rates.Seconds(work));
  }
  // The bound may be less than what an empty pass takes.
  const double left = std::max(times.bound_seconds - times.rates.overhead, 0.0);
  const double rounding = 1e-6 * (seconds + times.bound_seconds + std::abs(times.rates.overhead));
  EXPECT_LE(seconds - longest, left + rounding) << "without one sequence";
  EXPECT_GE(status.waiting_rows, 0);
  EXPECT_GE(status.waiting_tokens, 0);
  EXPECT_LE(status.waiting_bytes, status.bytes);
  EXPECT_LE(status.oldest_wait_seconds, simulation_.now() + 1e-9) << "the clock's unit";
  EXPECT_LE(status.cache.cached_pages, limits_.kept_kv_rows / proto::kKvPageRows);
  if (++counts_.passes > 200'000) {
    ADD_FAILURE() << "no end after " << counts_.passes << " passes";
    throw std::runtime_error("a schedule without end");
  }
}

void Schedule::CheckIdle() {
  for (const Submitted& submitted : jobs_) {
    EXPECT_EQ(submitted.replies, 1) << "job " << submitted.ticket;
  }
  Scheduler& scheduler = simulation_.scheduler();
  EXPECT_TRUE(scheduler.WaitIdleFor(Clock::duration::zero()));
  const SchedulerStatus status = scheduler.status();
  EXPECT_EQ(status.waiting_jobs, 0);
  EXPECT_EQ(status.running_jobs, 0);
  EXPECT_EQ(status.held_kv_pages, 0);
  EXPECT_EQ(status.oldest_wait_seconds, 0);
  EXPECT_EQ(status.waiting_tokens, 0);
  EXPECT_EQ(status.waiting_bytes, 0);
  EXPECT_EQ(status.waiting_rows, 0);
  EXPECT_EQ(status.bytes, 0);
  EXPECT_EQ(status.running_completions, 0);
  EXPECT_EQ(status.predicted_seconds, 0);
  EXPECT_EQ(status.passes, counts_.passes);
  EXPECT_GE(status.cache.hit_tokens, counts_.cached_tokens);
  EXPECT_GE(status.cache.asked_tokens, status.cache.hit_tokens);
  counts_.evicted += status.cache.evicted_pages;
}

/// Computes a prompt and a completion that need every page.
void Schedule::CheckAllPagesAreFree() {
  RandomJob job;
  proto::PackedSequence& sequence = job.sequences.emplace_back();
  Append(sequence, proto::SegmentKind::kPrefix, Text(3, limits_.kept_kv_rows), 0);
  Append(sequence, proto::SegmentKind::kSuffix, {}, limits_.kept_kv_rows);
  job.choosers.push_back(std::make_shared<RandomChooser>(/*seed=*/0, /*max_tokens=*/1));
  job.generations.push_back({0, 1, 1, job.choosers.back()});
  int replies = 0;
  const JobTicket ticket = simulation_.scheduler().Submit(job.MakeJob([&](const JobResult& result) {
    ++replies;
    ExpectAsIfAlone(job, result);
  }));
  simulation_.Run();
  EXPECT_EQ(replies, 1) << "a page is neither free nor cached";
  simulation_.scheduler().Cancel({ticket});
  EXPECT_LE(simulation_.scheduler().cache_counters().cached_pages,
            simulation_.options().scheduler.cached_pages);
}

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoull(value);
}

TEST(RandomSchedule, EveryJobIsComputedAsIfAloneAndRepliedToOnce) {
  const std::uint64_t only = FromEnvironment("SCORECAST_SCHEDULE_SEED", 0);
  const std::uint64_t runs = FromEnvironment("SCORECAST_SCHEDULE_RUNS", Rounds(200U));
  Schedule::Counts counts;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    if (only != 0 && seed != only) {
      continue;
    }
    SCOPED_TRACE("SCORECAST_SCHEDULE_SEED=" + std::to_string(seed));
    std::cout << (seed == 1 ? "Seeds: " : " ") << seed << std::flush;
    Schedule schedule(seed);
    schedule.Compute();
    counts += schedule.counts();
  }
  std::cout << "\n" << counts << "\n";
  constexpr std::uint64_t kEnough = 50;  // A few schedules refuse nothing.
  if (only == 0 && runs >= kEnough) {    // All kinds of events happened.
    for (const std::int64_t count : {counts.computed, counts.cancelled, counts.refused,
                                     counts.cached_tokens, counts.copies, counts.evicted}) {
      EXPECT_GT(count, static_cast<std::int64_t>(runs));
    }
  }
}

/// For ThreadSanitizer: the order of events is that of the threads.
TEST(RandomSchedule, ThreadsSubmitAndCancel) {
  Random random(20261123);
  for (int round = 0; round < 12; ++round) {
    const PlanLimits limits = RandomLimits(random);
    SchedulerOptions options;
    options.cached_pages = random.From(std::array{0, 3, 40});
    options.max_pass_seconds = random.From(std::array{kInfinity, 1e-12, 1e-3});
    FakeCluster cluster(limits, kVocabSize);
    Scheduler scheduler(cluster, options);
    std::atomic<int> replies = 0;
    constexpr int kThreads = 4;
    constexpr int kJobs = 25;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread, seed = random.Seed()] {
        Random own(seed);
        RandomJobMaker maker(own.Seed(), limits);
        std::vector<JobTicket> tickets;
        for (int i = 0; i < kJobs; ++i) {
          const auto random_job = std::make_shared<RandomJob>(maker.Make());
          Job job = random_job->MakeJob([&, random_job](const JobResult& result) {
            ++replies;
            if (result.rows.has_value()) {
              ExpectAsIfAlone(*random_job, result);
            } else {
              EXPECT_EQ(result.rows.error().code, 499);
            }
          });
          job.client = {"address " + std::to_string(thread / 2), own.Seed() % 2};
          job.priority = own.Pick(kMinPriority, kMaxPriority);
          tickets.push_back(scheduler.Submit(std::move(job)));
          if (own.OneIn(4)) {
            scheduler.Cancel({own.From(tickets), own.From(tickets)});
          }
          if (own.OneIn(8)) {
            scheduler.WaitForRoom();
          }
          EXPECT_GE(scheduler.status().bytes, 0);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    scheduler.WaitIdle();
    EXPECT_EQ(replies, kThreads * kJobs);
    EXPECT_EQ(scheduler.status().bytes, 0);
  }
}

}  // namespace random_schedule_test
}  // namespace scorecast::coordinator
