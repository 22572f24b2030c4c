// Bidirectional texts that take longer than a pass: they are computed in steps, between which
// others are served.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler.h"
#include "proto/plan/packed_sequence.h"
#include "tests/coordinator/schedule/queue/sum_cluster.h"

namespace scorecast::coordinator {
namespace long_texts_test {

using proto::PackedSequence;

/// A scheduler whose clock stands still: 1 ms a row, and passes of up to 40 ms.
class LongTexts : public ::testing::Test {
 protected:
  struct Answer {
    std::optional<float> sum;
    int error = 0;
    Scheduler::Ticket ticket = 0;
  };

  /// Submits a text of this many rows, whose tokens are `id`.
  void Submit(const std::string& client, std::int32_t rows, proto::TokenId id, Answer& answer) {
    PackedSequence text;
    text.tokens.assign(static_cast<std::size_t>(rows), id);
    text.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
    text.reads = {{.row = rows - 1, .first_row = 0}};
    Job job;
    job.sequences = {text};
    job.client = {client, 0};
    job.done = [&answer](JobResult result) {
      if (result.rows) {
        answer.sum = (*result.rows)[0][0].embedding[0];
      } else {
        answer.error = result.rows.error().code;
      }
    };
    answer.ticket = scheduler_.Submit(std::move(job));
  }

  /// The token of the text whose step is in flight; 0 if the pass is no step.
  proto::TokenId TextOfStep() const {
    return cluster_.next().step ? cluster_.next().tokens.at(0) : 0;
  }

  SumCluster cluster_;
  Scheduler scheduler_{cluster_,
                       {.max_pass_seconds = 0.04,
                        .time_model = PassTimeModel(PassRates{.row = 1e-3}),
                        .now = [] { return Clock::time_point(); }}};
};

TEST_F(LongTexts, AreComputedInStepsOfTheBound) {
  Answer answer;
  Submit("a", 800, 2, answer);
  int steps = 0;
  for (; !cluster_.is_idle(); ++steps) {
    ASSERT_TRUE(cluster_.next().step);
    // A stage of 160 rows takes 40 ms.
    EXPECT_LE(cluster_.next().tokens.size(), 160U);
    cluster_.ComputeNext();
  }
  EXPECT_EQ(steps, 5 * 5);
  EXPECT_EQ(answer.sum, 1600);
}

TEST_F(LongTexts, ThatFitAPassButNotItsTimeAreCutBetweenLayers) {
  Answer answer;
  Submit("a", 100, 2, answer);
  int steps = 0;
  for (; !cluster_.is_idle(); ++steps) {
    ASSERT_TRUE(cluster_.next().step);
    EXPECT_EQ(cluster_.next().tokens.size(), 100U);
    cluster_.ComputeNext();
  }
  EXPECT_EQ(steps, 5) << "one stage takes 25 ms";
  EXPECT_EQ(answer.sum, 200);
}

TEST_F(LongTexts, AShortTextIsOnePass) {
  Answer answer;
  Submit("a", 40, 2, answer);
  EXPECT_FALSE(cluster_.next().step);
  cluster_.ComputeNext();
  EXPECT_TRUE(cluster_.is_idle());
  EXPECT_EQ(answer.sum, 80);
}

TEST_F(LongTexts, OthersAreServedBetweenTheirSteps) {
  std::deque<Answer> greedy(3);
  for (Answer& answer : greedy) {
    Submit("greedy", 800, 2, answer);
  }
  for (int request = 0; request < 20; ++request) {
    cluster_.ComputeNext();
    Answer polite;
    Submit("polite", 10, 3, polite);
    int passes = 0;
    for (; !polite.sum; ++passes) {
      cluster_.ComputeNext();
    }
    EXPECT_EQ(polite.sum, 30);
    // The step in flight, and the polite client's own pass. At first both clients are new.
    EXPECT_LE(passes, request == 0 ? 3 : 2);
  }
  while (!cluster_.is_idle()) {
    cluster_.ComputeNext();
  }
  for (const Answer& answer : greedy) {
    EXPECT_EQ(answer.sum, 1600);
  }
}

TEST_F(LongTexts, OneAtATime) {
  std::deque<Answer> answers(3);
  Submit("a", 300, 1, answers[0]);
  Submit("b", 300, 2, answers[1]);
  Submit("a", 300, 3, answers[2]);
  std::vector<proto::TokenId> order;
  while (!cluster_.is_idle()) {
    if (order.empty() || order.back() != TextOfStep()) {
      order.push_back(TextOfStep());
    }
    cluster_.ComputeNext();
  }
  EXPECT_EQ(order, (std::vector<proto::TokenId>{1, 2, 3}));
  EXPECT_EQ(answers[0].sum, 300);
  EXPECT_EQ(answers[1].sum, 600);
  EXPECT_EQ(answers[2].sum, 900);
}

TEST_F(LongTexts, ATextThatIsCancelledMakesRoomForTheNext) {
  std::deque<Answer> answers(2);
  Submit("a", 300, 1, answers[0]);
  Submit("b", 300, 2, answers[1]);
  cluster_.ComputeNext();
  cluster_.ComputeNext();
  EXPECT_EQ(TextOfStep(), 1);
  scheduler_.Cancel({answers[0].ticket});
  EXPECT_EQ(answers[0].error, 0) << "a step is in flight";
  cluster_.ComputeNext();
  EXPECT_EQ(answers[0].error, 499);
  EXPECT_EQ(TextOfStep(), 2);
  while (!cluster_.is_idle()) {
    EXPECT_EQ(TextOfStep(), 2);
    cluster_.ComputeNext();
  }
  EXPECT_EQ(answers[1].sum, 600);
}

}  // namespace long_texts_test
}  // namespace scorecast::coordinator
