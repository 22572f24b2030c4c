#include "coordinator/service/held_bytes.h"

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace held_bytes_test {

TEST(HeldBytes, AReserveIsOnlyForTheBeginningsOfRequests) {
  HeldBytes bytes(1000, /*all=*/nullptr, /*reserve=*/100);
  EXPECT_EQ(bytes.TryHold(1001), nullptr);
  const Held most = bytes.TryHold(1000);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(bytes.TryHold(1), nullptr);
  EXPECT_EQ(bytes.TryHoldPart(kLongBytes, 1), nullptr);
  const Held small = bytes.TryHoldPart(0, 60);
  EXPECT_NE(small, nullptr);
  EXPECT_EQ(bytes.TryHoldPart(60, 60), nullptr) << "beyond the reserve";
  EXPECT_NE(bytes.TryHoldPart(60, 40), nullptr);
  EXPECT_EQ(bytes.bytes(), 1060);
}

TEST(HeldBytes, ALongRequestHasAllUpToTheLimit) {
  HeldBytes bytes(1000, /*all=*/nullptr, /*reserve=*/100);
  EXPECT_NE(bytes.TryHoldPart(kLongBytes, 1000), nullptr);
  EXPECT_EQ(bytes.bytes(), 0);
}

}  // namespace held_bytes_test
}  // namespace scorecast::coordinator
