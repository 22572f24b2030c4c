#include "coordinator/transports/connection/patient_pool.h"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace patient_pool_test {

using TooLate = PatientPool::TooLate;

constexpr auto kSoon = std::chrono::milliseconds(20);
constexpr auto kNever = std::chrono::hours(1);

/// Work that says how it was called.
class Told {
 public:
  PatientPool::Work Work() {
    return [this](TooLate too_late) { told_.set_value(too_late); };
  }
  TooLate Wait() { return told_.get_future().get(); }

 private:
  std::promise<TooLate> told_;
};

TEST(PatientPool, DoesWorkWhoseTurnComesInTime) {
  PatientPool pool(kNever);
  for (int i = 0; i < 3; ++i) {
    Told work;
    pool.Post({"a", 0}, work.Work());
    EXPECT_EQ(work.Wait(), std::nullopt);
  }
}

TEST(PatientPool, WorkThatIsTooLateIsToldWhileOtherWorkGoesOn) {
  std::promise<void> begun;
  std::promise<void> end;
  PatientPool pool(kSoon);
  pool.Post({"a", 0}, [&](TooLate too_late) {
    EXPECT_EQ(too_late, std::nullopt);
    begun.set_value();
    end.get_future().wait();
  });
  begun.get_future().wait();
  std::vector<Told> late(3);
  const auto held = std::make_shared<int>();
  for (Told& work : late) {
    pool.Post({"a", 1}, [told = work.Work(), held](TooLate too_late) { told(too_late); });
  }
  for (Told& work : late) {
    const TooLate too_late = work.Wait();
    ASSERT_TRUE(too_late);
    EXPECT_GE(*too_late, 1);
  }
  // The pool's thread is not free yet, and what the late work holds is gone nevertheless.
  while (held.use_count() > 1) {
    std::this_thread::yield();
  }
  end.set_value();
}

TEST(PatientPool, WhatWaitsIsDoneAtTheEnd) {
  PatientPool pool(kNever);
  std::promise<void> end;
  pool.Post({"a", 0}, [&](TooLate) { end.get_future().wait(); });
  Told work;
  pool.Post({"a", 0}, work.Work());
  end.set_value();
  pool.Join();
  EXPECT_EQ(work.Wait(), std::nullopt);
  bool is_dropped = true;
  pool.Post({"a", 0}, [&](TooLate) { is_dropped = false; });
  EXPECT_TRUE(is_dropped);
}

}  // namespace patient_pool_test
}  // namespace scorecast::coordinator
