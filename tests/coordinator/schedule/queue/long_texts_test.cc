// Bidirectional texts that take longer than a pass: they are computed in steps, between which
// others are served.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
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

/// A scheduler whose clock stands still: 1 ms a row, and passes of up to 40 ms. Of the buffers for
/// texts, 16 pages are for long texts, and 8 are the reserve for texts of up to 128 rows.
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

  /// First row that the text whose step is in flight has in the buffers.
  std::int32_t PlaceOfStep() const {
    return cluster_.next().sequences.at(0).segments.at(0).kv.first;
  }
  /// Computes all passes. Returns the token of each one's text, as TextOfStep.
  std::vector<proto::TokenId> ComputeAll() {
    std::vector<proto::TokenId> texts;
    for (; !cluster_.is_idle(); cluster_.ComputeNext()) {
      texts.push_back(TextOfStep());
    }
    return texts;
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

/// Number of the first and of the last pass with a step of the text.
std::pair<std::ptrdiff_t, std::ptrdiff_t> StepsOf(const std::vector<proto::TokenId>& passes,
                                                  proto::TokenId text) {
  const auto first = std::ranges::find(passes, text) - passes.begin();
  const auto last = passes.rend() - std::find(passes.rbegin(), passes.rend(), text) - 1;
  return {first, last};
}

TEST_F(LongTexts, OfSeveralClientsTakeTurns) {
  std::deque<Answer> answers(3);
  Submit("a", 300, 1, answers[0]);
  Submit("b", 300, 2, answers[1]);
  Submit("a", 300, 3, answers[2]);
  const std::vector<proto::TokenId> passes = ComputeAll();
  EXPECT_EQ(passes.size(), 3U * 10);
  const auto [first_1, last_1] = StepsOf(passes, 1);
  const auto [first_2, last_2] = StepsOf(passes, 2);
  EXPECT_LT(first_2, last_1);
  EXPECT_LT(first_1, last_2);
  EXPECT_GT(StepsOf(passes, 3).first, last_1) << "a client's texts of one size come one by one";
  EXPECT_EQ(answers[0].sum, 300);
  EXPECT_EQ(answers[1].sum, 600);
  EXPECT_EQ(answers[2].sum, 900);
}

TEST_F(LongTexts, AShortOneDoesNotWaitForTheLongestOne) {
  std::deque<Answer> greedy(3);
  for (Answer& answer : greedy) {
    Submit("greedy", 1000, 2, answer);
  }
  for (int request = 0; request < 10; ++request) {
    cluster_.ComputeNext();
    Answer polite;
    Submit("polite", 100, 3, polite);
    int passes = 0;
    for (; !polite.sum; ++passes) {
      cluster_.ComputeNext();
    }
    EXPECT_EQ(polite.sum, 300);
    // The step in flight, five steps that take 100 ms, and as much time of the other client: up to
    // seven steps of the first stage, which take 6 ms each, and others, which take 36 ms.
    EXPECT_LE(passes, 1 + 5 + 7 + 2);
    EXPECT_FALSE(greedy[2].sum) << "the other client still waits";
  }
  ComputeAll();
  for (const Answer& answer : greedy) {
    EXPECT_EQ(answer.sum, 2000);
  }
}

TEST_F(LongTexts, ShortOnesTakeTheRoomOfLongOnesIfNoneWaits) {
  std::deque<Answer> answers(5);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Submit("client " + std::to_string(i), 100, static_cast<proto::TokenId>(i + 1), answers[i]);
  }
  std::map<proto::TokenId, std::int32_t> places;
  int steps = 0;
  for (; !cluster_.is_idle(); ++steps, cluster_.ComputeNext()) {
    const auto place = places.emplace(TextOfStep(), PlaceOfStep()).first;
    EXPECT_EQ(place->second, PlaceOfStep()) << "a text keeps its place";
  }
  EXPECT_EQ(steps, 5 * 5);
  std::set<std::int32_t> rows;
  for (const auto& [text, row] : places) {
    rows.insert(row);
  }
  EXPECT_EQ(rows, (std::set<std::int32_t>{0, 1024, 1152, 1280, 1408}))
      << "the reserve has room for four";
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].sum, 100 * static_cast<float>(i + 1));
  }
}

// A text of all the room for long ones waits for a text of each of two other clients. These always
// have another one waiting, and together their texts would never leave enough room.
TEST_F(LongTexts, TheLongestOneIsNotOvertakenForever) {
  std::deque<Answer> others;
  std::map<std::string, Answer*> last;  // Of each client.
  const auto submit_if_done = [&](const std::string& client, std::int32_t rows, proto::TokenId id) {
    Answer*& answer = last[client];
    if (answer == nullptr || answer->sum) {
      answer = &others.emplace_back();
      Submit(client, rows, id, *answer);
    }
  };
  const auto compute_next = [&] {
    submit_if_done("a", 500, 1);
    submit_if_done("b", 300, 2);
    submit_if_done("short", 100, 3);
    cluster_.ComputeNext();
  };
  const auto done_of = [&](float sum) {
    return std::ranges::count(others, std::optional(sum), &Answer::sum);
  };
  while (done_of(500) < 2 || done_of(600) < 2) {
    compute_next();
  }
  const auto long_ones_before = done_of(500) + done_of(600);
  const auto short_ones_before = done_of(300);
  Answer longest;
  Submit("c", 1000, 4, longest);
  for (int pass = 0; TextOfStep() != 4; ++pass) {
    ASSERT_LT(pass, 100);
    compute_next();
  }
  EXPECT_EQ(PlaceOfStep(), 0);
  EXPECT_LE(done_of(500) + done_of(600) - long_ones_before, 2) << "those that were under way";
  EXPECT_GT(done_of(300), short_ones_before) << "short ones have the reserve";
  for (int pass = 0; !longest.sum; ++pass) {
    ASSERT_LT(pass, 300);
    compute_next();
  }
  EXPECT_EQ(longest.sum, 4000);
  ComputeAll();
  for (const auto& [client, answer] : last) {
    EXPECT_TRUE(answer->sum) << client;
  }
}

// The reserve has enough free pages for it, but they are apart.
TEST_F(LongTexts, AShortOneLeavesTheRoomOfALongOneThatWaits) {
  constexpr std::int32_t kReserve = 1024;  // Its first row.
  std::deque<Answer> longs(2);
  Submit("a", 600, 1, longs[0]);
  Submit("b", 1000, 2, longs[1]);
  std::map<proto::TokenId, Answer> shorts;
  for (proto::TokenId text = 10; text < 18; ++text) {
    Submit("client " + std::to_string(text), 64, text, shorts[text]);
  }
  std::map<proto::TokenId, std::int32_t> places;
  for (int pass = 0; places.size() < shorts.size(); ++pass) {
    ASSERT_LT(pass, 40);
    if (TextOfStep() >= 10) {
      places.emplace(TextOfStep(), PlaceOfStep());
    }
    cluster_.ComputeNext();
  }
  for (const auto& [text, place] : places) {
    EXPECT_GE(place, kReserve);
    if (place / proto::kKvPageRows % 2 == 1) {
      scheduler_.Cancel({shorts[text].ticket});
    }
  }
  cluster_.ComputeNext();
  for (const auto& [text, place] : places) {
    EXPECT_FALSE(shorts[text].sum);
    EXPECT_EQ(shorts[text].error, place / proto::kKvPageRows % 2 == 1 ? 499 : 0);
  }
  Answer next;
  Submit("c", 100, 3, next);
  for (int pass = 0; TextOfStep() != 3; ++pass) {
    ASSERT_LT(pass, 40);
    EXPECT_NE(TextOfStep(), 2) << "the long one still waits";
    cluster_.ComputeNext();
  }
  EXPECT_GE(PlaceOfStep(), kReserve);
  ComputeAll();
  EXPECT_EQ(next.sum, 300);
  EXPECT_EQ(longs[1].sum, 2000);
}

TEST_F(LongTexts, ATextThatIsCancelledMakesRoomForTheNext) {
  std::deque<Answer> answers(2);
  Submit("a", 600, 1, answers[0]);
  Submit("b", 600, 2, answers[1]);
  for (int pass = 0; pass < 5; ++pass) {
    EXPECT_EQ(TextOfStep(), 1) << "there is no room for both";
    cluster_.ComputeNext();
  }
  scheduler_.Cancel({answers[0].ticket});
  EXPECT_EQ(answers[0].error, 0) << "a step is in flight";
  cluster_.ComputeNext();
  EXPECT_EQ(answers[0].error, 499);
  EXPECT_EQ(TextOfStep(), 2);
  EXPECT_EQ(PlaceOfStep(), 0);
  EXPECT_EQ(std::ranges::count(ComputeAll(), 2), 20);
  EXPECT_EQ(answers[1].sum, 1200);
}

TEST_F(LongTexts, ATextThatIsCancelledWhileItWaitsHoldsUpNoOther) {
  std::deque<Answer> answers(3);
  Submit("a", 600, 1, answers[0]);
  Submit("b", 1000, 2, answers[1]);
  cluster_.ComputeNext();
  Submit("c", 300, 3, answers[2]);
  for (int pass = 0; pass < 5; ++pass) {
    EXPECT_EQ(TextOfStep(), 1) << "the second one comes before the third";
    cluster_.ComputeNext();
  }
  scheduler_.Cancel({answers[1].ticket});
  EXPECT_EQ(answers[1].error, 499);
  const std::vector<proto::TokenId> passes = ComputeAll();
  EXPECT_LT(StepsOf(passes, 3).first, StepsOf(passes, 1).second) << "there is room for both";
  EXPECT_EQ(answers[0].sum, 600);
  EXPECT_EQ(answers[2].sum, 900);
}

// The cluster checks that no text loses what waits between its steps.
TEST_F(LongTexts, AllAreDoneWhateverTheirLengths) {
  constexpr int kTexts = 300;
  std::mt19937 random(1);
  const auto at_most = [&](std::int32_t n) {
    return std::uniform_int_distribution<std::int32_t>(0, n)(random);
  };
  std::deque<Answer> answers;
  std::vector<float> sums;
  std::set<std::size_t> cancelled;
  for (int text = 1; text <= kTexts; ++text) {
    const std::int32_t rows = 1 + at_most(at_most(2) == 0 ? 999 : 199);
    sums.push_back(static_cast<float>(rows * text));
    Submit("client " + std::to_string(at_most(9)), rows, text, answers.emplace_back());
    for (std::int32_t passes = at_most(10); passes > 0 && !cluster_.is_idle(); --passes) {
      cluster_.ComputeNext();
    }
    const auto some = static_cast<std::size_t>(at_most(text - 1));
    if (at_most(4) == 0 && !answers[some].sum) {
      cancelled.insert(some);
      scheduler_.Cancel({answers[some].ticket});
    }
  }
  const auto is_left = [](const Answer& answer) { return !answer.sum && answer.error == 0; };
  EXPECT_GT(std::ranges::count_if(answers, is_left), 30) << "many wait";
  ComputeAll();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    // A text that is cancelled in its last pass is done.
    if (answers[i].error == 499) {
      EXPECT_TRUE(cancelled.contains(i)) << i;
    } else {
      EXPECT_EQ(answers[i].sum, sums[i]) << i;
    }
  }
  EXPECT_GT(std::ranges::count(answers, 499, &Answer::error), 10);
}

}  // namespace long_texts_test
}  // namespace scorecast::coordinator
