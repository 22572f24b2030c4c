#include "coordinator/service/deadline_timer.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/endpoints/asking.h"

namespace scorecast::coordinator {
namespace deadline_timer_test {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Request = std::shared_ptr<Call>;

/// A timer with a clock that stands still, except when the test moves it.
class DeadlineTimerTest : public ::testing::Test {
 protected:
  static constexpr Clock::time_point kBegin{std::chrono::hours(1)};

  static Request WithDeadline(std::optional<Clock::time_point> deadline) {
    auto request = std::make_shared<AskingCall>();
    request->Accept(nullptr, /*reply_bytes=*/0, nullptr, deadline);
    return request;
  }

  /// Moves the clock. Returns the requests that are reported then, once there are `count`.
  std::vector<Request> MoveTo(Clock::time_point now, std::size_t count) {
    std::unique_lock lock(mutex_);
    now_ = now;
    lock.unlock();
    timer_.ReadClock();
    lock.lock();
    changed_.wait(lock, [&] { return passed_.size() >= count; });
    return std::exchange(passed_, {});
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point now_ = kBegin;
  std::vector<Request> passed_;
  DeadlineTimer timer_{[this](const std::vector<Request>& late) {
                         const std::lock_guard lock(mutex_);
                         passed_.insert(passed_.end(), late.begin(), late.end());
                         changed_.notify_all();
                       },
                       [this] {
                         const std::lock_guard lock(mutex_);
                         return now_;
                       }};
};

TEST_F(DeadlineTimerTest, ReportsEachRequestOnceItsDeadlineHasPassed) {
  const Request third = WithDeadline(kBegin + seconds(3));
  const Request first = WithDeadline(kBegin + seconds(1));
  const Request second = WithDeadline(kBegin + seconds(2));
  const Request fourth = WithDeadline(kBegin + seconds(3));
  for (const Request& request : {third, first, second, fourth}) {
    timer_.Add(request);
  }
  EXPECT_THAT(MoveTo(kBegin + std::chrono::milliseconds(999), 0), IsEmpty());
  EXPECT_THAT(MoveTo(kBegin + seconds(1), 1), ElementsAre(first));
  EXPECT_THAT(MoveTo(kBegin + seconds(5), 3), UnorderedElementsAre(second, third, fourth));
}

TEST_F(DeadlineTimerTest, ADeadlineInThePastIsReportedWithoutAChangeOfTheClock) {
  const Request late = WithDeadline(kBegin - seconds(1));
  timer_.Add(late);
  EXPECT_THAT(MoveTo(kBegin, 1), ElementsAre(late));
}

TEST_F(DeadlineTimerTest, ForgetsRequestsThatAreRemovedOrHaveNoDeadline) {
  const Request removed = WithDeadline(kBegin + seconds(1));
  const Request other = WithDeadline(kBegin + seconds(1));
  const Request without = WithDeadline(std::nullopt);
  for (const Request& request : {removed, other, without}) {
    timer_.Add(request);
  }
  EXPECT_EQ(without.use_count(), 1);
  timer_.Remove(*removed);
  timer_.Remove(*without);
  EXPECT_EQ(removed.use_count(), 1);
  EXPECT_THAT(MoveTo(kBegin + seconds(2), 1), ElementsAre(other));
}

}  // namespace deadline_timer_test
}  // namespace scorecast::coordinator
