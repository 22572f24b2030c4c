// What the scheduler promises to each client, under random schedules: see FairQueue.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/queue/fair_queue.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "tests/coordinator/schedule/queue/simulation.h"
#include "tests/coordinator/schedule/sample_requests.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace random_fairness_test {

constexpr PassRates kRates = {.overhead = 2e-3, .row = 1e-4};
constexpr double kMaxPassSeconds = 0.05;
/// The rows of a bounded pass.
constexpr int kPassRows = 480;
/// Pages for all that is under way.
constexpr proto::PlanLimits kLimits{
    .max_rows = 2000, .max_reads = 2000, .pass_kv_rows = 8000, .kept_kv_rows = 64 * 2000};
/// What a client that was idle may have saved up.
constexpr double kCredit = 4 * kMaxPassSeconds;
/// The largest charge for rows added at once.
constexpr double kLargestCharge = kPassRows * kRates.row;

/// A connection that always has jobs of several passes in the queue. The token of its prompts tells
/// their rows from others'.
struct Hog {
  ClientId id;
  std::int32_t priority = 0;
  proto::TokenId token = 0;
  int longest = 0;            ///< Rows of its longest prompts.
  int completion_tokens = 0;  ///< Of each completion, of which every job then has one.
  int waiting = 0;            ///< Rows of its unfinished jobs.
  double charged = 0;         ///< Seconds of the rows that were computed, divided by its weight.

  double largest_charge() const { return kLargestCharge / WeightOf(priority); }
};

/// Hogs from several addresses until a time.
class Hogs {
 public:
  struct Options {
    std::uint64_t seed = 0;
    double end = 0;
    bool have_completions = false;  ///< Some of them.
    proto::PlanLimits limits = kLimits;
  };

  explicit Hogs(const Options& options)
      : random_(options.seed), end_(options.end), limits_(options.limits) {
    for (int address = 0, addresses = Pick(2, 5); address < addresses; ++address) {
      for (int connection = 0, connections = Pick(1, 3); connection < connections; ++connection) {
        hogs_.push_back(
            {.id = {std::to_string(address), static_cast<std::uint64_t>(connection)},
             .priority = Pick(0, 2) == 0 ? Pick(-5, 5) : 0,
             .token = static_cast<proto::TokenId>(hogs_.size()),
             .longest = Pick(0, 1) == 0 ? 50 : 4 * kPassRows,
             .completion_tokens = options.have_completions && Pick(0, 1) == 0 ? Pick(1, 200) : 0});
      }
    }
    for (Hog& hog : hogs_) {
      simulation_.At(0, [&] { Fill(hog); });
    }
  }

  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  Simulation& simulation() { return simulation_; }
  const std::vector<Hog>& hogs() const { return hogs_; }

  /// Called at the end of each pass.
  std::function<void(const Simulation::Pass&)> on_pass = [](const Simulation::Pass&) {};

 private:
  /// Submits jobs until more rows wait than three passes compute.
  void Fill(Hog& hog) {
    while (hog.waiting < 3 * kPassRows && simulation_.now() < end_) {
      Job job;
      int rows = 0;
      for (int sequences = hog.completion_tokens > 0 ? 1 : Pick(1, 4); sequences > 0; --sequences) {
        job.sequences.push_back(ScoredPrompt(Pick(1, hog.longest), hog.token));
        rows += static_cast<int>(job.sequences.back().rows());
      }
      if (hog.completion_tokens > 0) {
        Append(job.sequences[0], proto::SegmentKind::kSuffix, {}, rows);
        job.generations.push_back(
            {0, 1, hog.completion_tokens, std::make_shared<Greedy>(hog.completion_tokens)});
      }
      hog.waiting += rows;
      job.client = hog.id;
      job.priority = hog.priority;
      job.done = [this, &hog, rows](const JobResult& result) {
        EXPECT_TRUE(result.rows.has_value());
        hog.waiting -= rows;
        Fill(hog);
      };
      simulation_.scheduler().Submit(std::move(job));
    }
  }

  void Charge(const Simulation::Pass& pass) {
    for (Hog& hog : hogs_) {
      hog.charged += static_cast<double>(std::ranges::count(pass.plan.tokens, hog.token)) *
                     kRates.row / WeightOf(hog.priority);
    }
    on_pass(pass);
  }

  std::mt19937_64 random_;
  const double end_;
  const proto::PlanLimits limits_;
  std::vector<Hog> hogs_;
  Simulation simulation_{
      {.limits = limits_,
       .scheduler = {.max_pass_seconds = kMaxPassSeconds, .time_model = PassTimeModel(kRates)},
       .rates = kRates,
       .on_pass = [this](const Simulation::Pass& pass) { Charge(pass); }}};
};

/// What the connections of an address were charged, and the largest charge of one.
struct Address {
  double charged = 0;
  double largest_charge = 0;
};

void ExpectFair(double charged, double largest_charge, double other_charged,
                double other_largest_charge) {
  EXPECT_LE(std::abs(charged - other_charged), kCredit + largest_charge + other_largest_charge);
}

TEST(RandomFairness, SiblingsWithEnoughToComputeAreServedByTheirWeights) {
  for (std::uint64_t seed = 1; seed <= Rounds<std::uint64_t>(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    constexpr double kEnd = 10;
    Hogs hogs({.seed = seed, .end = kEnd});
    hogs.on_pass = [&](const Simulation::Pass& pass) {
      if (pass.end >= kEnd) {
        return;
      }
      EXPECT_LE(pass.end - pass.begin, kMaxPassSeconds * 1.001);
      std::map<ClientName, Address> addresses;
      for (const Hog& hog : hogs.hogs()) {
        Address& address = addresses[hog.id.address];
        address.charged += hog.charged;
        address.largest_charge = std::max(address.largest_charge, hog.largest_charge());
        for (const Hog& other : hogs.hogs()) {
          if (other.id.address == hog.id.address) {
            ExpectFair(hog.charged, hog.largest_charge(), other.charged, other.largest_charge());
          }
        }
      }
      for (const auto& [name, address] : addresses) {
        for (const auto& [other_name, other] : addresses) {
          ExpectFair(address.charged, address.largest_charge, other.charged, other.largest_charge);
        }
      }
    };
    hogs.simulation().Run();
  }
}

TEST(RandomFairness, AClientThatAsksForLittleIsComputedInTheNextPass) {
  for (std::uint64_t seed = 1; seed <= Rounds<std::uint64_t>(18); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    constexpr double kEnd = 10;
    proto::PlanLimits limits = kLimits;
    const bool has_few_pages = seed % 3 == 0;
    limits.kept_kv_rows = 64 * (has_few_pages ? 60 : 2000);
    Hogs hogs({.seed = seed, .end = kEnd, .have_completions = seed % 2 == 0, .limits = limits});
    Simulation& simulation = hogs.simulation();
    std::vector<double> begins;  // Of all passes.
    hogs.on_pass = [&](const Simulation::Pass& pass) { begins.push_back(pass.begin); };
    int computed = 0;
    const std::function<void()> submit = [&] {
      Job job;
      job.sequences.push_back(ScoredPrompt(hogs.Pick(1, 20), /*token=*/kVocabSize - 1));
      job.client = {"polite", 0};
      job.done = [&, submitted = simulation.now()](const JobResult& result) {
        EXPECT_TRUE(result.rows.has_value());
        ++computed;
        const auto later =
            std::ranges::count_if(begins, [&](double begin) { return begin > submitted; });
        EXPECT_LE(later, 1) << "submitted at " << submitted;
        const double next = simulation.now() + hogs.Pick(1, 1000) * 1e-3;
        if (next < kEnd) {
          simulation.At(next, submit);
        }
      };
      simulation.scheduler().Submit(std::move(job));
    };
    simulation.At(1, submit);
    simulation.Run();
    EXPECT_GT(computed, 10);
  }
}

}  // namespace random_fairness_test
}  // namespace scorecast::coordinator
