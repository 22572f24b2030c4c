#include "launcher/supervisor/wait_notice.h"

#include <chrono>

#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace wait_notice_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WaitNotice, ComesAfterAFirstTimeAndWheneverTheWaitHasDoubled) {
  const WaitNotice::TimePoint since{seconds(100)};
  WaitNotice notice(since, seconds(2));
  EXPECT_FALSE(notice.IsDue(since + milliseconds(1999)));
  EXPECT_TRUE(notice.IsDue(since + seconds(2)));
  EXPECT_FALSE(notice.IsDue(since + seconds(2)));
  EXPECT_EQ(notice.next(), since + seconds(4));
  EXPECT_TRUE(notice.IsDue(since + milliseconds(4100)));
  EXPECT_EQ(notice.next(), since + seconds(8));
  EXPECT_EQ(notice.SecondsAt(since + milliseconds(4500)), 4.5);
}

TEST(WaitNotice, ALateLookGivesOneNoticeAndNotSeveral) {
  const WaitNotice::TimePoint since{seconds(100)};
  WaitNotice notice(since, seconds(1));
  EXPECT_TRUE(notice.IsDue(since + seconds(9)));
  EXPECT_EQ(notice.next(), since + seconds(16));
  EXPECT_FALSE(notice.IsDue(since + seconds(15)));
}

}  // namespace wait_notice_test
}  // namespace scorecast::launcher
