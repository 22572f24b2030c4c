#include "coordinator/schedule/queue/page_queue.h"

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace page_queue_test {

using Need = PageQueue::Need;

/// A reserve of 20 pages, so that sequences of up to 5 are short.
class PageQueueTest : public ::testing::Test {
 protected:
  static PageQueue::Entry Entry(std::uint64_t ticket) { return {ticket, 0}; }
  Need NeedOf(std::int64_t pages) const { return queue_.NeedOf(pages, /*has_completions=*/false); }

  PageQueue queue_{{.max_rows = 640, .kept_kv_rows = 100 * proto::kKvPageRows}};
};

TEST_F(PageQueueTest, ShortSequencesNeedAQuarterOfTheReserve) {
  EXPECT_FALSE(NeedOf(5).is_long_lived);
  EXPECT_TRUE(NeedOf(6).is_long_lived);
  EXPECT_TRUE(queue_.NeedOf(2, /*has_completions=*/true).is_long_lived);
  const PageQueue few({.max_rows = 8192, .kept_kv_rows = 24 * proto::kKvPageRows});
  EXPECT_FALSE(few.NeedOf(1, false).is_long_lived) << "a reserve of 6";
  EXPECT_TRUE(few.NeedOf(2, false).is_long_lived);
}

TEST_F(PageQueueTest, TheReserveBesideTheLongestText) {
  const PageQueue texts({.max_rows = 640,
                         .longest_text = 79 * proto::kKvPageRows + 1,
                         .text_rows = 100 * proto::kKvPageRows,
                         .reach = {.both_sides = true}});
  EXPECT_EQ(texts.pages(), 100);
  EXPECT_EQ(texts.reserve(), 20) << "the longest text has 80 pages";
  EXPECT_FALSE(texts.NeedOf(5, false).is_long_lived);
  EXPECT_TRUE(texts.NeedOf(6, false).is_long_lived);
}

TEST_F(PageQueueTest, LongSequencesLeaveTheReserveFree) {
  EXPECT_EQ(queue_.SpareToBegin(NeedOf(5)), 0);
  EXPECT_EQ(queue_.SpareToBegin(NeedOf(50)), 20);
  EXPECT_EQ(queue_.SpareToBegin(NeedOf(85)), 15) << "it needs a part of it";
  EXPECT_EQ(queue_.SpareToBegin(NeedOf(100)), 0);
  queue_.Begin(Entry(1), NeedOf(5));
  queue_.Begin(Entry(2), NeedOf(4));
  EXPECT_EQ(queue_.SpareToBegin(NeedOf(50)), 11) << "short ones have the others";
  queue_.End(Entry(1));
  queue_.Begin(Entry(3), NeedOf(30));
  EXPECT_EQ(queue_.SpareToBegin(NeedOf(50)), 16);
}

TEST_F(PageQueueTest, WhoWaitsHoldsUpOnlyLaterOnesOfItsKind) {
  queue_.Wait(Entry(5), NeedOf(50), {0, 2});
  EXPECT_TRUE(queue_.has_waiting());
  EXPECT_TRUE(queue_.MayBegin(Entry(5), NeedOf(50), {0, 3})) << "itself";
  EXPECT_TRUE(queue_.MayBegin(Entry(6), NeedOf(50), {0, 1.5})) << "an address that was served less";
  EXPECT_TRUE(queue_.MayBegin(Entry(4), NeedOf(50), {0, 2})) << "before it";
  EXPECT_FALSE(queue_.MayBegin(Entry(6), NeedOf(50), {0, 2}));
  EXPECT_FALSE(queue_.MayBegin(Entry(4), NeedOf(50), {0, 2.5}));
  EXPECT_TRUE(queue_.MayBegin(Entry(6), NeedOf(3), {0, 9})) << "another kind";
  // It keeps its place, whatever its address is served in the meantime.
  queue_.Wait(Entry(5), NeedOf(50), {0, 7});
  EXPECT_FALSE(queue_.MayBegin(Entry(4), NeedOf(50), {0, 2.5}));
  queue_.Begin(Entry(5), NeedOf(50));
  EXPECT_FALSE(queue_.has_waiting());
  EXPECT_TRUE(queue_.MayBegin(Entry(4), NeedOf(50), {0, 2.5}));
}

TEST_F(PageQueueTest, WhoWaitsMayNeedSomethingElse) {
  queue_.Wait(Entry(5), NeedOf(99), {0, 2});
  EXPECT_FALSE(queue_.MayBegin(Entry(5), NeedOf(3), {0, 2})) << "beside 99 pages there is only one";
  queue_.SetNeed(Entry(5), NeedOf(3));
  EXPECT_TRUE(queue_.MayBegin(Entry(5), NeedOf(3), {0, 2}));
  EXPECT_TRUE(queue_.MayBegin(Entry(6), NeedOf(50), {0, 9})) << "no long one waits";
  EXPECT_FALSE(queue_.MayBegin(Entry(6), NeedOf(3), {0, 2})) << "it keeps its place";
  queue_.SetNeed(Entry(5), NeedOf(50));
  EXPECT_FALSE(queue_.MayBegin(Entry(6), NeedOf(50), {0, 2}));
  EXPECT_TRUE(queue_.MayBegin(Entry(6), NeedOf(3), {0, 2}));
  queue_.SetNeed(Entry(5), {});
  EXPECT_FALSE(queue_.has_waiting());
  queue_.SetNeed(Entry(7), NeedOf(3));
  EXPECT_FALSE(queue_.has_waiting()) << "it did not wait";
}

TEST_F(PageQueueTest, ShortOnesHaveOnlyTheReserveWhileALongOneWaits) {
  for (const std::uint64_t ticket : {1, 2, 3}) {
    queue_.Begin(Entry(ticket), NeedOf(5));
  }
  EXPECT_TRUE(queue_.MayBegin(Entry(6), NeedOf(5), {0, 0}));
  EXPECT_FALSE(queue_.has_waiting_long());
  queue_.Wait(Entry(9), NeedOf(85), {0, 0});
  EXPECT_TRUE(queue_.has_waiting_long());
  EXPECT_FALSE(queue_.MayBegin(Entry(6), NeedOf(5), {0, 0}))
      << "5 of the reserve are for the long one";
  queue_.End(Entry(2));
  EXPECT_TRUE(queue_.MayBegin(Entry(6), NeedOf(5), {0, 0}));
  queue_.Begin(Entry(6), NeedOf(5));
  queue_.End(Entry(9));
  EXPECT_FALSE(queue_.has_waiting()) << "it was dropped";
}

TEST_F(PageQueueTest, AShortOneIsNotOvertakenForeverBySmallerOnes) {
  for (const std::uint64_t ticket : {1, 2, 3}) {
    queue_.Begin(Entry(ticket), NeedOf(5));
  }
  queue_.Begin(Entry(4), NeedOf(1));
  queue_.Wait(Entry(9), NeedOf(50), {0, 0});
  EXPECT_FALSE(queue_.MayBegin(Entry(6), NeedOf(5), {0, 1})) << "4 of the reserve are left";
  EXPECT_FALSE(queue_.MayBegin(Entry(7), NeedOf(1), {0, 2})) << "it comes after it";
  EXPECT_TRUE(queue_.MayBegin(Entry(8), NeedOf(1), {0, 0})) << "an address that was served less";
  queue_.End(Entry(4));
  EXPECT_TRUE(queue_.MayBegin(Entry(6), NeedOf(5), {0, 8})) << "it has kept its place";
  queue_.Begin(Entry(6), NeedOf(5));
  queue_.End(Entry(1));
  EXPECT_TRUE(queue_.MayBegin(Entry(7), NeedOf(1), {0, 2}));
}

TEST_F(PageQueueTest, CompletionsGrowIntoTheReserveUnlessAShortOneWaits) {
  EXPECT_EQ(queue_.SpareToGrow(), 0);
  queue_.Begin(Entry(1), NeedOf(5));
  queue_.Wait(Entry(2), NeedOf(5), {0, 0});
  EXPECT_EQ(queue_.SpareToGrow(), 15);
  queue_.End(Entry(2));
  EXPECT_EQ(queue_.SpareToGrow(), 0);
}

}  // namespace page_queue_test
}  // namespace scorecast::coordinator
