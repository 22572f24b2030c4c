// The load of a service: rates of the last seconds, and what the scheduler says.

#include "coordinator/status/service_load.h"

#include <chrono>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace service_load_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LoadMeterTest : public ::testing::Test {
 protected:
  /// Time passes, in which requests end and passes run.
  void Work(milliseconds time, std::int64_t requests, double pass_seconds) {
    now_ += time;
    done_.requests += requests;
    done_.pass_seconds += pass_seconds;
  }

  Clock::time_point now_{seconds(100)};
  WorkDone done_;
  SchedulerStatus status_;
  int asked_ = 0;
  LoadMeter meter_{[this] {
                     ++asked_;
                     return status_;
                   },
                   [this] { return done_; }, [this] { return now_; }};
};

TEST_F(LoadMeterTest, IsZeroAtTheStart) {
  const ServiceLoad load = meter_.Get();
  EXPECT_EQ(load.requests_per_second, 0);
  EXPECT_EQ(load.busy, 0);
}

TEST_F(LoadMeterTest, HasWhatTheSchedulerSays) {
  status_.waiting_jobs = 3;
  status_.running_jobs = 2;
  status_.predicted_seconds = 0.5;
  status_.kv_pages = 8;
  status_.held_kv_pages = 6;
  Work(seconds(1), 0, 0);
  const ServiceLoad load = meter_.Get();
  EXPECT_EQ(load.waiting_requests, 3);
  EXPECT_EQ(load.running_requests, 2);
  EXPECT_EQ(load.predicted_seconds, 0.5);
  EXPECT_EQ(load.kv_usage, 0.75);
}

TEST_F(LoadMeterTest, RatesAreThoseOfTheLastSeconds) {
  Work(seconds(2), 20, 1);
  EXPECT_EQ(meter_.Get().requests_per_second, 10) << "of the time since the start";
  EXPECT_EQ(meter_.Get().busy, 0.5);
  // Then the service has nothing to do, and is asked every second.
  for (int second = 0; second < 10; ++second) {
    Work(seconds(1), 0, 0);
    meter_.Get();
  }
  EXPECT_EQ(meter_.Get().requests_per_second, 0);
  EXPECT_EQ(meter_.Get().busy, 0);
  for (int second = 0; second < 10; ++second) {
    Work(seconds(1), 5, 0.25);
    meter_.Get();
  }
  EXPECT_EQ(meter_.Get().requests_per_second, 5);
  EXPECT_EQ(meter_.Get().busy, 0.25);
}

TEST_F(LoadMeterTest, AServiceIsBusyAllTheTimeAtMost) {
  // A pass of eight seconds that began before the window.
  Work(seconds(6), 0, 0);
  meter_.Get();
  Work(seconds(5), 0, 0);
  meter_.Get();
  Work(seconds(1), 1, 8);
  EXPECT_EQ(meter_.Get().busy, 1);
}

TEST_F(LoadMeterTest, AsksAtMostAHundredTimesASecond) {
  Work(seconds(1), 1, 0);
  meter_.Get();
  EXPECT_EQ(asked_, 1);
  Work(milliseconds(9), 1000, 0);
  EXPECT_EQ(meter_.Get().requests_per_second, 1);
  EXPECT_EQ(asked_, 1);
  Work(milliseconds(1), 0, 0);
  EXPECT_GT(meter_.Get().requests_per_second, 100);
  EXPECT_EQ(asked_, 2);
}

}  // namespace service_load_test
}  // namespace scorecast::coordinator
