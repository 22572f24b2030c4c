#include "coordinator/schedule/scheduler.h"

#include <atomic>
#include <future>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/capacity.h"
#include "tests/coordinator/fake_cluster.h"

namespace scorecast::coordinator {
namespace {

using proto::PackedSequence;
using proto::PlanLimits;
using proto::RowLogits;
using proto::SegmentKind;
using proto::TokenId;
using ::testing::ElementsAre;

constexpr std::int64_t kVocabSize = 64;
constexpr PlanLimits kLimits{
    .max_rows = 32, .max_reads = 16, .pass_kv_rows = 256, .kept_kv_rows = 256};

/// A causal prompt of one token repeated, read at its end.
PackedSequence Prompt(int rows, TokenId token) {
  PackedSequence sequence =
      proto::PackItems(std::vector<TokenId>(static_cast<std::size_t>(rows), token), {});
  sequence.label_lists = {{token, 1}};
  sequence.reads = {{rows - 1, 0, true, 2}};
  return sequence;
}

void ExpectRows(const std::vector<PackedSequence>& sequences,
                const std::vector<std::vector<RowLogits>>& rows) {
  ASSERT_EQ(rows.size(), sequences.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), sequences[i].reads.size());
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      const RowLogits expected = ExpectedRow(sequences[i], sequences[i].reads[j], kVocabSize);
      EXPECT_EQ(rows[i][j].label_logits, expected.label_logits) << i << " " << j;
      EXPECT_EQ(rows[i][j].sum_exp, expected.sum_exp);
      EXPECT_EQ(rows[i][j].top, expected.top);
    }
  }
}

/// Submits a job; its result is checked against the sequences when it is asked for.
class Pending {
 public:
  Pending(Scheduler& scheduler, std::vector<PackedSequence> sequences,
          std::optional<Clock::time_point> deadline = std::nullopt)
      : sequences_(std::move(sequences)), result_(promise_.get_future()) {
    ticket_ = scheduler.Submit(
        {.sequences = sequences_, .deadline = deadline, .done = [this](JobResult result) {
           promise_.set_value(std::move(result));
         }});
  }
  Scheduler::Ticket ticket() const { return ticket_; }
  proto::Error Refusal() {
    const JobResult result = result_.get();
    EXPECT_FALSE(result.rows.has_value());
    return result.rows.has_value() ? proto::Error{} : result.rows.error();
  }
  void ExpectAnswer() {
    const JobResult result = result_.get();
    ASSERT_TRUE(result.rows.has_value()) << result.rows.error().message;
    ExpectRows(sequences_, result.rows.value());
    EXPECT_LE(result.started, result.finished);
  }
  void ExpectDeadlinePassed() {
    const JobResult result = result_.get();
    ASSERT_FALSE(result.rows.has_value());
    EXPECT_EQ(result.rows.error().code, 504);
    EXPECT_EQ(result.rows.error().reason, "deadline_passed");
    EXPECT_EQ(result.rows.error().param, "timeout_ms");
  }

 private:
  std::vector<PackedSequence> sequences_;
  Scheduler::Ticket ticket_ = Scheduler::kNoTicket;
  std::promise<JobResult> promise_;
  std::future<JobResult> result_;
};

/// Of each pass, the tokens of its rows with how many rows in a row have it.
using Runs = std::vector<std::pair<TokenId, int>>;
std::vector<Runs> Passes(const FakeCluster& cluster) {
  std::vector<Runs> passes;
  for (const auto& plan : cluster.plans()) {
    Runs& runs = passes.emplace_back();
    for (const TokenId token : plan.tokens) {
      if (runs.empty() || runs.back().first != token) {
        runs.emplace_back(token, 0);
      }
      ++runs.back().second;
    }
  }
  return passes;
}

TEST(Scheduler, AnswersAJobAndAnEmptyOne) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  Pending(scheduler, {Prompt(3, 5), Prompt(4, 6)}).ExpectAnswer();
  Pending(scheduler, {}).ExpectAnswer();
  scheduler.WaitIdle();
  EXPECT_EQ(cluster.plans().size(), 1u) << "both prompts in one pass";
}

TEST(Scheduler, PacksWhatWaitsInOrderAndFillsTheRest) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  Pending a(scheduler, {Prompt(3, 10)});
  Pending b(scheduler, {Prompt(20, 11)});
  Pending c(scheduler, {Prompt(20, 12)});
  Pending d(scheduler, {Prompt(10, 13), Prompt(2, 14)});
  Pending e(scheduler, {Prompt(9, 15)});
  cluster.Release();
  for (Pending* pending : {&a, &b, &c, &d, &e}) {
    pending->ExpectAnswer();
  }
  scheduler.WaitIdle();
  EXPECT_THAT(Passes(cluster), ElementsAre(Runs{{10, 3}}, Runs{{11, 20}, {13, 10}, {14, 2}},
                                           Runs{{12, 20}, {15, 9}}));
}

TEST(Scheduler, ALongSequenceAndTheOthersLeadInTurns) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  Pending first(scheduler, {Prompt(1, 10)});
  Pending longest(scheduler, {Prompt(100, 11)});
  Pending b(scheduler, {Prompt(20, 12)});
  Pending c(scheduler, {Prompt(10, 13)});
  Pending d(scheduler, {Prompt(20, 14)});
  cluster.Release();
  for (Pending* pending : {&first, &longest, &b, &c, &d}) {
    pending->ExpectAnswer();
  }
  scheduler.WaitIdle();
  EXPECT_THAT(Passes(cluster),
              ElementsAre(Runs{{10, 1}}, Runs{{11, 32}}, Runs{{12, 20}, {13, 10}, {11, 2}},
                          Runs{{11, 32}}, Runs{{14, 20}, {11, 12}}, Runs{{11, 22}}));
}

TEST(Scheduler, AJobOfManyPassesDoesNotHoldBackASmallOne) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  std::vector<PackedSequence> many(6, Prompt(30, 10));
  many.push_back(Prompt(40, 10));
  many.push_back(Prompt(40, 10));
  Pending large(scheduler, many);
  Pending small(scheduler, {Prompt(5, 11)});
  cluster.Release();
  large.ExpectAnswer();
  small.ExpectAnswer();
  scheduler.WaitIdle();
  const auto passes = Passes(cluster);
  ASSERT_GE(passes.size(), 2u);
  EXPECT_THAT(passes[1], ElementsAre(std::pair(11, 5)))
      << "its turn; a prompt of 30 does not fit the rest";
}

TEST(Scheduler, AJobThatIsLateIsNotComputed) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  const auto past = Clock::now() - std::chrono::seconds(1);
  Pending(scheduler, {Prompt(3, 10), Prompt(3, 11)}, past).ExpectDeadlinePassed();
  EXPECT_TRUE(cluster.plans().empty());

  cluster.Hold();
  Pending first(scheduler, {Prompt(3, 12)});
  Pending late(scheduler, {Prompt(3, 13), Prompt(4, 13)}, past);
  Pending late_and_long(scheduler, {Prompt(90, 14)}, past);
  Pending last(scheduler, {Prompt(3, 15)}, Clock::now() + std::chrono::hours(1));
  cluster.Release();
  first.ExpectAnswer();
  late.ExpectDeadlinePassed();
  late_and_long.ExpectDeadlinePassed();
  last.ExpectAnswer();
  scheduler.WaitIdle();
  EXPECT_THAT(Passes(cluster), ElementsAre(Runs{{12, 3}}, Runs{{15, 3}}));
}

TEST(Scheduler, ADeadlineMayPassBetweenTwoPasses) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  const auto soon = Clock::now() + std::chrono::milliseconds(200);
  Pending cut(scheduler, {Prompt(100, 10)}, soon);
  Pending next(scheduler, {Prompt(100, 11)});
  std::this_thread::sleep_until(soon);
  cluster.Release();
  cut.ExpectDeadlinePassed();
  next.ExpectAnswer();
  scheduler.WaitIdle();
}

TEST(Scheduler, MoreThanTheQueueHoldsIsRefusedAtOnce) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster, {.max_queue = 2});
  cluster.Hold();
  Pending computing(scheduler, {Prompt(20, 2)});
  Pending first(scheduler, {Prompt(5, 3)});
  Pending second(scheduler, {Prompt(5, 4), Prompt(6, 5)});
  Pending refused(scheduler, {Prompt(5, 6)});
  const proto::Error error = refused.Refusal();
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.reason, "queue_full");
  EXPECT_EQ(error.message, "Too many requests wait: 2 of at most 2.");
  ASSERT_TRUE(error.retry_after_seconds.has_value());
  EXPECT_GE(*error.retry_after_seconds, 1);
  cluster.Release();
  computing.ExpectAnswer();
  first.ExpectAnswer();
  second.ExpectAnswer();
  Pending later(scheduler, {Prompt(5, 7)});
  later.ExpectAnswer();
  scheduler.WaitIdle();
}

TEST(Scheduler, CancelledJobsAreDroppedAndNoOthers) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  Pending computing(scheduler, {Prompt(20, 2)});
  Pending left(scheduler, {Prompt(5, 3), Prompt(5, 4)});
  Pending stays(scheduler, {Prompt(5, 5)});
  Pending left_too(scheduler, {Prompt(70, 6)});
  scheduler.Cancel({left_too.ticket(), Scheduler::kNoTicket, left.ticket()});
  EXPECT_EQ(left.Refusal().code, 499) << "while the pass before it still runs";
  EXPECT_EQ(left_too.Refusal().code, 499);
  scheduler.Cancel({left.ticket(), computing.ticket()});
  scheduler.Cancel({});
  cluster.Release();
  computing.ExpectAnswer();
  stays.ExpectAnswer();
  scheduler.WaitIdle();
  EXPECT_THAT(Passes(cluster), ElementsAre(Runs{{2, 20}}, Runs{{5, 5}}));
}

TEST(Scheduler, RefusingWhatWaitsLeavesWhatRides) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  Pending computing(scheduler, {Prompt(20, 2)});
  Pending in_parts(scheduler, {Prompt(70, 3)});
  Pending waiting(scheduler, {Prompt(5, 4)});
  EXPECT_FALSE(scheduler.WaitIdleFor(std::chrono::milliseconds(1)));
  scheduler.RefuseWaiting();
  EXPECT_EQ(waiting.Refusal().reason, "draining");
  EXPECT_EQ(in_parts.Refusal().code, 503);
  cluster.Release();
  computing.ExpectAnswer();
  scheduler.WaitIdle();
  EXPECT_THAT(Passes(cluster), ElementsAre(Runs{{2, 20}}));
}

TEST(Scheduler, AJobWithAPartInFlightIsRefusedWhenThatIsBack) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  Pending in_parts(scheduler, {Prompt(70, 3)});
  scheduler.RefuseWaiting();
  cluster.Release();
  EXPECT_EQ(in_parts.Refusal().code, 503);
  scheduler.WaitIdle();
  EXPECT_THAT(Passes(cluster), ElementsAre(Runs{{3, 32}}));
}

TEST(Scheduler, DoneMaySubmit) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  std::promise<void> second_done;
  scheduler.Submit({.sequences = {Prompt(3, 10)}, .done = [&](JobResult) {
                      scheduler.Submit({.sequences = {Prompt(4, 11)},
                                        .done = [&](JobResult) { second_done.set_value(); }});
                    }});
  second_done.get_future().wait();
  scheduler.WaitIdle();
}

TEST(Scheduler, WaitForRoomReturnsWhenPassesHaveBeenComputed) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  scheduler.WaitForRoom();
  cluster.Hold();
  std::atomic<int> done = 0;
  for (int i = 0; i < 20; ++i) {
    scheduler.Submit({.sequences = {Prompt(32, 10)}, .done = [&](JobResult) { ++done; }});
  }
  std::thread release([&] { cluster.Release(); });
  scheduler.WaitForRoom();
  EXPECT_GE(done, 1);
  release.join();
  scheduler.WaitIdle();
  EXPECT_EQ(done, 20);
}

/// Any legal sequence: prefix, blocks, suffixes, reads in any order.
PackedSequence RandomSequence(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  PackedSequence sequence;
  const int prefix = pick(1, pick(0, 3) == 0 ? 150 : 12);
  sequence.segments.push_back({SegmentKind::kPrefix, prefix, 0});
  int longest = 0;
  for (int blocks = pick(0, 6); blocks > 0; --blocks) {
    const int length = pick(1, pick(0, 5) == 0 ? 40 : 8);
    longest = std::max(longest, length);
    sequence.segments.push_back({SegmentKind::kBlock, length, prefix});
  }
  for (int suffixes = pick(-2, 2); suffixes > 0; --suffixes) {
    sequence.segments.push_back({SegmentKind::kSuffix, pick(1, 9), prefix + longest});
  }
  int rows = 0;
  for (const auto& segment : sequence.segments) {
    rows += segment.length;
  }
  for (int i = 0; i < rows; ++i) {
    sequence.tokens.push_back(pick(0, kVocabSize - 1));
  }
  sequence.label_lists = {{pick(0, 30), pick(31, 60)}, {61, 3, 7}};
  for (int reads = pick(1, 9); reads > 0; --reads) {
    const bool normalizer = pick(0, 1) == 1;
    sequence.reads.push_back(
        {pick(0, rows - 1), pick(0, 1), normalizer, normalizer ? pick(0, 4) : 0});
  }
  return sequence;
}

/// FakeCluster aborts on a plan that breaks a limit or reads K/V that is not there.
TEST(Scheduler, RandomJobsFromManyThreadsAreEachAnsweredOnceAndRight) {
  std::mt19937 seeds(20260901);
  for (int round = 0; round < 30; ++round) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution(low, high)(seeds);
    };
    const PlanLimits limits{.max_rows = pick(1, 64),
                            .max_reads = pick(2, 20),
                            .pass_kv_rows = 16 * pick(1, 16),
                            .kept_kv_rows = 16 * pick(1, 24)};
    FakeCluster cluster(limits, kVocabSize);
    Scheduler scheduler(cluster);
    std::atomic<int> submitted = 0;
    std::atomic<int> answered = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, seed = seeds()] {
        std::mt19937 random(seed);
        for (int j = 0; j < 12; ++j) {
          std::vector<PackedSequence> sequences;
          for (int s = std::uniform_int_distribution(0, 5)(random); s > 0; --s) {
            PackedSequence sequence = RandomSequence(random);
            if (!CapacityFault(sequence, limits)) {
              sequences.push_back(std::move(sequence));
            }
          }
          ++submitted;
          scheduler.Submit(
              {.sequences = sequences, .done = [&answered, sequences](JobResult result) {
                 ++answered;
                 ASSERT_TRUE(result.rows.has_value());
                 ExpectRows(sequences, result.rows.value());
               }});
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    scheduler.WaitIdle();
    EXPECT_EQ(answered, submitted);
  }
}

}  // namespace
}  // namespace scorecast::coordinator
