#include "launcher/log/progress_text.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace progress_text_test {

using std::chrono::seconds;

const ProgressText::Clock::time_point kBegin{};

TEST(ProgressText, TellsShareRateAndTimeLeft) {
  ProgressText text(1000);
  text.Add({kBegin, 0, 0});
  EXPECT_EQ(text.Line(), "0 lines, 0 % of the input");
  EXPECT_EQ(text.Bar(200), "[--------------------]   0 %  0 lines");
  text.Add({kBegin + seconds(10), 1, 100});
  EXPECT_EQ(text.Line(), "1 line, 10 % of the input, 0.1 lines/s, 0:01:30 left");
  EXPECT_EQ(text.Bar(200), "[##------------------]  10 %  1 line  0.1/s  0:01:30 left");
  text.Add({kBegin + seconds(20), 5000, 500});
  EXPECT_EQ(text.Line(), "5000 lines, 50 % of the input, 250 lines/s, 0:00:20 left");
  EXPECT_EQ(text.Bar(200), "[##########----------]  50 %  5000 lines  250/s  0:00:20 left");
  EXPECT_EQ(text.Bar(30), "[##########----------]  50 %  ");
  text.Add({kBegin + seconds(30), 9000, 999});
  EXPECT_EQ(text.Line(), "9000 lines, 99 % of the input, 300 lines/s, 0:00:00 left");
  text.Add({kBegin + seconds(40), 9001, 1001});
  EXPECT_EQ(text.Line(), "9001 lines, 100 % of the input, 225 lines/s, 0:00:00 left");
}

TEST(ProgressText, AnInputOfUnknownSizeHasARateOnly) {
  ProgressText text(std::nullopt);
  text.Add({kBegin, 0, 0});
  EXPECT_EQ(text.Line(), "0 lines");
  text.Add({kBegin + seconds(4), 6, 100});
  EXPECT_EQ(text.Line(), "6 lines, 1.5 lines/s");
  EXPECT_EQ(text.Bar(200), "6 lines  1.5/s");
}

TEST(ProgressText, TheLastMinuteCounts) {
  ProgressText text(std::int64_t{1} << 20);
  for (int second = 0; second <= 600; ++second) {
    // A line a second for five minutes, and then ten.
    const int records = second < 300 ? second : 300 + (second - 300) * 10;
    text.Add({kBegin + seconds(second), records, records * 10});
  }
  EXPECT_EQ(text.Line(), "3300 lines, 3 % of the input, 10 lines/s, 2:49:16 left");
}

TEST(ProgressText, ARunThatGoesOnCountsFromWhereItBegan) {
  ProgressText text(1000);
  text.Add({kBegin, 0, 500});
  text.Add({kBegin + seconds(10), 2, 510});
  EXPECT_EQ(text.Line(), "2 lines, 51 % of the input, 0.2 lines/s, 0:08:10 left");
}

TEST(ProgressText, WithoutProgressNothingIsSaidOfTheTimeLeft) {
  ProgressText text(1000);
  text.Add({kBegin, 0, 0});
  text.Add({kBegin + seconds(10), 0, 0});
  EXPECT_EQ(text.Line(), "0 lines, 0 % of the input, 0 lines/s");
  ProgressText empty(0);
  empty.Add({kBegin, 0, 0});
  EXPECT_EQ(empty.Line(), "0 lines, 0 % of the input");
}

}  // namespace progress_text_test
}  // namespace scorecast::launcher
