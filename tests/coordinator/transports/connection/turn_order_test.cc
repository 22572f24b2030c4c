#include "coordinator/transports/connection/turn_order.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace turn_order_test {

using ::testing::ElementsAre;
using Work = TurnOrder::Work;

constexpr std::size_t kRoom = 1000;

ClientId From(const std::string& address, std::uint64_t connection = 0) {
  return {address, connection};
}

/// "a.1" for connection 1 of address a.
std::string NameOf(const ClientId& client) {
  return std::string(client.address.text()) + "." + std::to_string(client.connection);
}

/// An order in which every turn ends before the next one begins.
class Turns {
 public:
  void Add(const ClientId& client) { order_.Wait(client, Work::kNew); }

  /// Gives a turn. The work is done then, or goes on to wait. "" if nothing may have a turn.
  std::string Give(double seconds, bool is_done, std::size_t room = kRoom) {
    const auto choice = order_.Next(room);
    if (!choice) {
      return "";
    }
    order_.BeginTurn(*choice, 1);
    order_.EndTurn(choice->client, 1, seconds, is_done);
    if (!is_done) {
      order_.Wait(choice->client, Work::kBegun);
    }
    return NameOf(choice->client);
  }

  std::vector<std::string> GiveAll(double seconds) {
    std::vector<std::string> names;
    for (std::string name = Give(seconds, true); !name.empty(); name = Give(seconds, true)) {
      names.push_back(name);
    }
    return names;
  }

  const TurnOrder& order() const { return order_; }

 private:
  TurnOrder order_;
};

TEST(TurnOrder, AddressesTakeTurnsAndAtTheirTurnsTheirConnections) {
  Turns turns;
  for (const ClientId& client :
       {From("a", 1), From("a", 1), From("a", 2), From("a", 2), From("b", 3), From("b", 3)}) {
    turns.Add(client);
  }
  EXPECT_THAT(turns.GiveAll(1), ElementsAre("a.1", "b.3", "a.2", "b.3", "a.1", "a.2"));
}

TEST(TurnOrder, TimeIsSharedNotTurns) {
  Turns turns;
  turns.Add(From("a"));
  turns.Add(From("b"));
  std::map<std::string, int> count;
  for (int i = 0; i < 400; ++i) {
    const bool is_a = NameOf(turns.order().Next(kRoom)->client) == "a.0";
    ++count[turns.Give(is_a ? 3 : 1, /*is_done=*/false)];
  }
  EXPECT_NEAR(count["a.0"], 100, 2);
  EXPECT_NEAR(count["b.0"], 300, 2);
}

TEST(TurnOrder, AnAddressThatComesIsServedNext) {
  Turns turns;
  for (int i = 0; i < 100; ++i) {
    turns.Add(From("a", i));
  }
  for (int i = 0; i < 50; ++i) {
    turns.Give(1, /*is_done=*/false);
  }
  turns.Add(From("b"));
  EXPECT_EQ(turns.Give(1, true), "b.0");
}

TEST(TurnOrder, NobodySavesUpTimeByBeingIdle) {
  Turns turns;
  turns.Add(From("a"));
  turns.Add(From("b"));
  turns.Give(1, true);
  turns.Give(1, true);
  turns.Add(From("a"));
  for (int i = 0; i < 50; ++i) {
    turns.Give(1, /*is_done=*/false);
  }
  turns.Add(From("b"));
  turns.Add(From("b"));
  turns.Add(From("b"));
  EXPECT_THAT(turns.GiveAll(1), ElementsAre("b.0", "a.0", "b.0", "b.0"));
}

TEST(TurnOrder, AClientThatWasServedForLongWaitsAlthoughItWasIdle) {
  Turns turns;
  turns.Add(From("b"));
  turns.Add(From("a"));
  EXPECT_EQ(turns.Give(1, /*is_done=*/false), "b.0");
  EXPECT_EQ(turns.Give(5, /*is_done=*/true), "a.0");
  turns.Add(From("a"));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(turns.Give(1, /*is_done=*/false), "b.0");
  }
}

TEST(TurnOrder, WhatHasBegunGoesBeforeNewWorkOfItsConnection) {
  Turns turns;
  turns.Add(From("a"));
  turns.Add(From("a"));
  turns.Give(1, /*is_done=*/false);
  EXPECT_EQ(turns.order().Next(kRoom)->work, Work::kBegun);
  turns.Give(1, /*is_done=*/true);
  EXPECT_EQ(turns.order().Next(kRoom)->work, Work::kNew);
}

TEST(TurnOrder, NewWorkIsHeldBackFromAddressesWithTooMuchThatHasBegun) {
  Turns turns;
  for (int i = 0; i < 4; ++i) {
    turns.Add(From("a", i));
  }
  EXPECT_EQ(turns.Give(1, false, /*room=*/2), "a.0");
  EXPECT_EQ(turns.Give(1, false, 2), "a.1");
  EXPECT_EQ(turns.Give(1, false, 2), "a.0");
  EXPECT_EQ(turns.Give(1, false, 2), "a.1");
  turns.Add(From("b"));
  EXPECT_EQ(turns.Give(1, false, 2), "b.0");
  EXPECT_EQ(turns.order().Next(/*room=*/0)->work, Work::kBegun);
  EXPECT_EQ(turns.order().begun(), 3u);
  EXPECT_EQ(turns.order().waiting(), 5u);
}

TEST(TurnOrder, NetworksTakeTurnsHoweverManyAddressesTheyHave) {
  Turns turns;
  for (const char* address : {"a", "b", "c"}) {
    turns.Add({.address = address, .network = "net"});
  }
  turns.Add({.address = "d", .connection = 1, .network = "other"});
  turns.Add({.address = "d", .connection = 2, .network = "other"});
  EXPECT_THAT(turns.GiveAll(1), ElementsAre("a.0", "d.1", "b.0", "d.2", "c.0"));
}

TEST(TurnOrder, NewWorkIsHeldBackFromNetworksWithTooMuchThatHasBegun) {
  Turns turns;
  for (int i = 0; i < 6; ++i) {
    turns.Add({.address = std::to_string(i), .network = "net"});
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(turns.Give(1, false, /*room=*/2), std::to_string(i) + ".0");
  }
  EXPECT_EQ(turns.Give(1, false, 2), "0.0") << "4 and 5 may not begin";
  turns.Add({.address = "a", .network = "other"});
  EXPECT_EQ(turns.Give(1, false, 2), "a.0");
}

TEST(TurnOrder, ATurnUnderWayCountsAtOnce) {
  TurnOrder order;
  for (int i = 0; i < 2; ++i) {
    order.Wait(From("a"), Work::kNew);
    order.Wait(From("b"), Work::kNew);
  }
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) {
    const TurnOrder::Choice choice = *order.Next(kRoom);
    names.push_back(NameOf(choice.client));
    order.BeginTurn(choice, 1);
  }
  EXPECT_THAT(names, ElementsAre("a.0", "b.0", "a.0", "b.0"));
}

TEST(TurnOrder, ForgetsClients) {
  Turns turns;
  turns.Add(From("stays"));
  for (int i = 0; i < 10'000; ++i) {
    turns.Add(From("a" + std::to_string(i)));
    turns.Give(1, /*is_done=*/true);
    turns.Give(1, /*is_done=*/false);
  }
  EXPECT_LT(turns.order().nodes(), 1000u);
  turns.GiveAll(1);
  EXPECT_EQ(turns.order().nodes(), 0u);
}

}  // namespace turn_order_test
}  // namespace scorecast::coordinator
