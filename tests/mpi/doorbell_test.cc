// The doorbell between ranks that live: rings, and start-ups that fail.

#include "shard/worker/doorbell.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>  // Boost 1.74 needs it before asio.hpp.

#include <boost/asio.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "proto/mpi/communicator.h"
#include "shard/worker/doorbell_handshake.h"

namespace scorecast::testing {
namespace doorbell_test {

namespace asio = boost::asio;
using ::testing::HasSubstr;

TEST(Doorbell, RingsReachEveryRankInOrder) {
  const auto group = proto::Communicator::World();
  const auto doorbell = shard::Doorbell::Connect(group);
  constexpr std::uint64_t kRings = 300;  // Enough that several arrive before a rank reads them.
  for (std::uint64_t i = 1; group.size() > 1 && i <= kRings; ++i) {
    if (group.is_root()) {
      doorbell->RingAll(i * i);
    } else {
      EXPECT_EQ(doorbell->Wait(), (shard::Ring{i, i * i}));
    }
  }
  if (group.is_root()) {
    doorbell->RingAll(0);
  } else if (group.size() > 1) {
    EXPECT_EQ(doorbell->Wait(), (shard::Ring{kRings + 1, 0}));
  }
}

// This happens if a later part of start-up fails.
TEST(Doorbell, CanBeDestroyedWithoutARing) {
  const auto group = proto::Communicator::World();
  shard::Doorbell::Connect(group);
}

/// Time for all ranks to connect, long enough for a busy machine.
constexpr auto kTimeForTheOthers = std::chrono::seconds(3);

/// The message that Doorbell::Connect throws on this rank if rank `absent` does not connect, though
/// it takes part in the rest of the start-up.
std::string FaultWithout(int absent) {
  const auto group = proto::Communicator::World();
  try {
    if (group.rank() == absent) {
      asio::io_context context;
      asio::ip::tcp::acceptor acceptor(context);
      shard::Invite(group, acceptor);
      proto::StartupPhase(group, [] {});
    } else {
      shard::Doorbell::Connect(group, nullptr, &shard::EndProcessFor,
                               {.all_ranks = kTimeForTheOthers});
    }
  } catch (const proto::StartupError& fault) {
    return fault.what();
  }
  return {};
}

TEST(Doorbell, NamesARankThatDoesNotConnect) {
  const int absent = proto::Communicator::World().size() - 1;
  if (absent == 0) {
    return;  // There is no other rank.
  }
  EXPECT_THAT(FaultWithout(absent), HasSubstr("rank " + std::to_string(absent) +
                                              " did not connect to rank 0's doorbell (port "));
}

TEST(Doorbell, ReportsThatRankZeroDoesNotListen) {
  if (proto::Communicator::World().size() > 1) {
    EXPECT_THAT(FaultWithout(0), HasSubstr("rank 1: cannot connect to rank 0's doorbell (port "));
  }
}

}  // namespace doorbell_test
}  // namespace scorecast::testing
