#include "coordinator/schedule/queue/retry_promises.h"

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace retry_promises_test {

const ClientId kClient = {"10.0.0.1", 3};

Clock::time_point At(double seconds) {
  return Clock::time_point() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

TEST(RetryPromises, LaterOnesAreToldToComeLater) {
  RetryPromises promises;
  EXPECT_EQ(promises.Promise(kClient, 1, At(0), 2.5, 1.5), 3);
  EXPECT_EQ(promises.Promise(kClient, 2, At(0), 2.5, 1.5), 4);
  EXPECT_EQ(promises.Promise(kClient, 3, At(0), 2.5, 1.5), 6) << "2.5 + 2 * 1.5 = 5.5";
  EXPECT_DOUBLE_EQ(promises.PromisedSeconds(kClient, At(0)), 4.5);
  EXPECT_EQ(promises.Promise({"10.0.0.1", 4}, 4, At(0), 2.5, 1.5), 3) << "another client";
  EXPECT_EQ(promises.Promise(kClient, 5, At(3), 1, 1.5), 4) << "7 - 3";
}

TEST(RetryPromises, AtLeastASecondAndAtMostTenMinutes) {
  RetryPromises promises;
  EXPECT_EQ(promises.Promise(kClient, 1, At(0), -7, 0), 1);
  EXPECT_EQ(promises.Promise(kClient, 2, At(0), 1e9, 0), 600);
}

TEST(RetryPromises, AreKeptOnceForTheRequestAndNotBeforeTheirTime) {
  RetryPromises promises;
  promises.Promise(kClient, 1, At(0), 2.5, 1);
  promises.Promise(kClient, 1, At(0), 2.5, 1);
  promises.Promise(kClient, 2, At(0), 2.5, 1);
  EXPECT_FALSE(promises.Keep(kClient, 1, At(2.9)));
  EXPECT_FALSE(promises.Keep({"10.0.0.2", 3}, 1, At(3)));
  EXPECT_FALSE(promises.Keep(kClient, 3, At(3)));
  EXPECT_TRUE(promises.Keep(kClient, 1, At(3)));
  EXPECT_FALSE(promises.Keep(kClient, 1, At(3.9))) << "the same again was told 4";
  EXPECT_TRUE(promises.Keep(kClient, 1, At(4)));
  EXPECT_FALSE(promises.Keep(kClient, 1, At(4)));
  EXPECT_EQ(promises.PromisedSeconds(kClient, At(4)), 1);
  EXPECT_TRUE(promises.Keep(kClient, 2, At(5)));
  EXPECT_EQ(promises.PromisedSeconds(kClient, At(5)), 0);
}

TEST(RetryPromises, LapseIfTheRequestDoesNotCome) {
  RetryPromises promises;
  promises.Promise(kClient, 1, At(0), 10, 2);
  promises.Promise(kClient, 2, At(0), 10, 2);
  EXPECT_DOUBLE_EQ(promises.PromisedSeconds(kClient, At(15.9)), 4);
  EXPECT_FALSE(promises.Keep(kClient, 1, At(16.1)));
  EXPECT_DOUBLE_EQ(promises.PromisedSeconds(kClient, At(16.1)), 2);
  EXPECT_TRUE(promises.Keep(kClient, 2, At(18.9)));
}

TEST(RetryPromises, RememberABoundedNumber) {
  RetryPromises promises;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    promises.Promise(kClient, i, At(0), 1, 0.01);
  }
  EXPECT_NEAR(promises.PromisedSeconds(kClient, At(0)), 10.24, 1e-6);
  for (int client = 0; client < 200; ++client) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      promises.Promise({std::to_string(client), 0}, i, At(0), 1, 1);
    }
  }
  EXPECT_EQ(promises.PromisedSeconds({"199", 0}, At(0)), 0);
  EXPECT_EQ(promises.Promise({"199", 0}, 1, At(2000), 1, 1), 1);
  EXPECT_EQ(promises.PromisedSeconds({"199", 0}, At(2000)), 1) << "the others have lapsed";
}

}  // namespace retry_promises_test
}  // namespace scorecast::coordinator
