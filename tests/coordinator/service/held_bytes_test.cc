#include "coordinator/service/held_bytes.h"

#include <memory>
#include <string>
#include <utility>

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

TEST(HeldBytes, CountInAllThatTheyArePartOf) {
  const HeldBytes all(1000);
  const HeldBytes address(500, &all);
  HeldBytes connection(100, &address);
  Held held = connection.Hold(400);
  EXPECT_EQ(all.bytes(), 400);
  EXPECT_TRUE(HeldBytes(100, &address).HasRoom());
  EXPECT_FALSE(connection.HasRoom());
  const Held more = HeldBytes(1000, &address).Hold(100);
  EXPECT_FALSE(address.HasRoom());
  held.reset();
  EXPECT_EQ(all.bytes(), 100);
  const Held others = HeldBytes(all).Hold(850);
  EXPECT_EQ(connection.TryHold(60), nullptr) << "because of all";
  EXPECT_EQ(address.bytes(), 100) << "nothing stays counted";
}

TEST(HeldBytes, BytesBeyondTheLimitLeaveTheReserve) {
  HeldBytes bytes(1000, /*all=*/nullptr, /*reserve=*/100);
  const Held forced = bytes.Hold(5000);
  EXPECT_NE(bytes.TryHoldPart(0, 100), nullptr);
  EXPECT_EQ(bytes.TryHoldPart(0, 101), nullptr);
}

TEST(HeldBytes, WakeThoseThatWaitInTheirOrderAndOneAtATime) {
  HeldBytes bytes(1000);
  Held held = bytes.Hold(1000);
  const Held turn = bytes.TakeTurn();
  std::string woken;
  const auto waiting = [&](char name, bool is_there) {
    const auto wake = std::make_shared<HeldBytes::Wake>([&woken, name, is_there] {
      woken += name;
      return is_there;
    });
    bytes.Wait(kLongBytes, 10, wake, /*is_first=*/name == 'f');
    return wake;
  };
  const auto a = waiting('a', true);
  auto gone = waiting('g', true);
  gone.reset();
  const auto b = waiting('b', false);
  const auto c = waiting('c', true);
  const auto f = waiting('f', true);
  EXPECT_EQ(woken, "");
  held.reset();
  EXPECT_EQ(woken, "f");
  bytes.WakeNext();
  EXPECT_EQ(woken, "fa");
  bytes.WakeNext();
  EXPECT_EQ(woken, "fabc") << "b does not want it any more";
  EXPECT_FALSE(bytes.HasWaiting());
  const auto late = waiting('l', true);
  EXPECT_EQ(woken, "fabcl") << "there is room";
}

TEST(HeldBytes, WakeTheNextWhenTheTurnIsOver) {
  HeldBytes all(2000);
  HeldBytes bytes(1000, &all);
  const Held held = bytes.Hold(1000);
  Held turn = bytes.TakeTurn();
  EXPECT_EQ(bytes.TakeTurn(), nullptr);
  EXPECT_EQ(bytes.TryHoldInTurn(turn, 0, 1001), nullptr) << "because of all";
  Held beyond = bytes.TryHoldInTurn(std::move(turn), 0, 900);
  ASSERT_NE(beyond, nullptr);
  int woken = 0;
  const auto wake = std::make_shared<HeldBytes::Wake>([&] {
    EXPECT_NE(bytes.TakeTurn(), nullptr);
    return ++woken > 0;
  });
  bytes.Wait(kLongBytes, 10, wake, /*is_first=*/false);
  EXPECT_EQ(woken, 0);
  beyond.reset();
  EXPECT_EQ(woken, 1);
}

}  // namespace held_bytes_test
}  // namespace scorecast::coordinator
