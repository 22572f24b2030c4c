#include "coordinator/request/request_options.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace request_options_test {

constexpr Clock::time_point kArrived{std::chrono::hours(5)};

TEST(DeadlineOf, CountsFromTheArrival) {
  EXPECT_FALSE(DeadlineOf({}, kArrived));
  const RequestOptions options = {.timeout_ms = 70, .model = {}, .cache_salt = {}};
  EXPECT_EQ(DeadlineOf(options, kArrived), kArrived + std::chrono::milliseconds(70));
}

TEST(DeadlineOf, ADeadlineInAMillionYearsIsBroughtForward) {
  const RequestOptions options = {
      .timeout_ms = std::numeric_limits<std::int64_t>::max(), .model = {}, .cache_salt = {}};
  ASSERT_FALSE(OptionsFault(options));
  EXPECT_GT(DeadlineOf(options, kArrived), kArrived + std::chrono::hours(24 * 364));
}

TEST(GrantedPriority, ABetterOneThanOthersNeedsTrust) {
  EXPECT_EQ(GrantedPriority({.priority = -10}, /*best=*/0), 0);
  EXPECT_EQ(GrantedPriority({.priority = 7}, 0), 7);
  EXPECT_EQ(GrantedPriority({.priority = -10}, -10), -10);
  EXPECT_EQ(GrantedPriority({.priority = 7}, -10), 7);
}

TEST(OptionsFault, NamesTheField) {
  EXPECT_FALSE(OptionsFault({}));
  for (const std::int64_t timeout : {std::int64_t{0}, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(OptionsFault({.timeout_ms = timeout, .model = {}, .cache_salt = {}})->param,
              "timeout_ms");
  }
  RequestOptions salted;
  salted.cache_salt = std::string(256, 's');
  EXPECT_FALSE(OptionsFault(salted));
  salted.cache_salt->push_back('s');
  EXPECT_EQ(OptionsFault(salted)->param, "cache_salt");
  for (const std::int64_t priority : {-10, 10}) {
    EXPECT_FALSE(OptionsFault({.priority = priority}));
  }
  for (const std::int64_t priority : {std::int64_t{-11}, std::int64_t{11}, std::int64_t{1} << 32}) {
    EXPECT_EQ(OptionsFault({.priority = priority})->param, "priority");
  }
}

}  // namespace request_options_test
}  // namespace scorecast::coordinator
