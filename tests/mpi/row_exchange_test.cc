#include "proto/mpi/row_exchange.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/mpi/communicator.h"

namespace scorecast::proto {
namespace {

using Transport = RowExchange::Transport;

/// Bytes that tell by themselves whose they are: in no other place, row or round of a test do the
/// same follow each other.
class Pattern {
 public:
  Pattern(std::int64_t round, int rank, std::int64_t row)
      : state_(static_cast<std::uint64_t>(round * 1'000'003 + rank * 10'007 + row + 1) *
               0x9E3779B97F4A7C15U) {}

  std::byte Next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<std::byte>(state_ >> 24U);
  }
  void Write(std::byte* bytes, std::int64_t size) {
    std::generate_n(bytes, size, [this] { return Next(); });
  }
  bool Matches(const std::byte* bytes, std::int64_t size) {
    return std::all_of(bytes, bytes + size, [this](std::byte b) { return b == Next(); });
  }

 private:
  std::uint64_t state_;
};

constexpr int kFinished = -1;  // In place of the rank: a finished row is nobody's.

/// Takes time without giving the core away, so that the other ranks run ahead as far as they can.
void Dawdle() {
  for (std::atomic<int> i = 0; i < 500'000; ++i) {
  }
}

/// Where in a round a rank dawdles.
enum class Dawdling { kNowhere, kBeforeSummands, kBeforeParts, kBeforeSharing, kBeforeReading };

void DawdleAt(Dawdling here, Dawdling where) {
  if (here == where) {
    Dawdle();
  }
}

struct Bytes {
  std::int64_t summand;
  std::int64_t shared;
};

/// One round of `rows`, with every byte that arrives looked at. A rank that finds a fault goes on,
/// as the others would wait for it.
void Round(RowExchange& exchange, const Communicator& group, std::int64_t round, std::int64_t rows,
           Bytes bytes, Dawdling dawdling = Dawdling::kNowhere) {
  DawdleAt(Dawdling::kBeforeSummands, dawdling);
  for (std::int64_t row = 0; row < rows; ++row) {
    Pattern(round, group.rank(), row)
        .Write(exchange.summands() + row * bytes.summand, bytes.summand);
  }
  exchange.ExchangeSummands(rows);
  DawdleAt(Dawdling::kBeforeParts, dawdling);
  const Range own = exchange.OwnRows(rows);
  std::int64_t wrong_summands = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    for (std::int64_t row = own.begin; row < own.end; ++row) {
      const std::byte* summands = exchange.part(rank) + (row - own.begin) * bytes.summand;
      wrong_summands += Pattern(round, rank, row).Matches(summands, bytes.summand) ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong_summands, 0) << "round " << round << " of " << rows << " rows";
  DawdleAt(Dawdling::kBeforeSharing, dawdling);
  for (std::int64_t row = own.begin; row < own.end; ++row) {
    Pattern(round, kFinished, row).Write(exchange.shared_rows() + row * bytes.shared, bytes.shared);
  }
  exchange.ShareRows(rows);
  DawdleAt(Dawdling::kBeforeReading, dawdling);
  std::int64_t wrong_finished = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::byte* finished = exchange.shared_rows() + row * bytes.shared;
    wrong_finished += Pattern(round, kFinished, row).Matches(finished, bytes.shared) ? 0 : 1;
  }
  EXPECT_EQ(wrong_finished, 0) << "round " << round << " of " << rows << " rows";
}

class RowExchangeOver : public ::testing::TestWithParam<Transport> {
 protected:
  const Communicator group_ = Communicator::World();
};

TEST_P(RowExchangeOver, SaysHowItGoes) {
  const RowExchange exchange(group_, 8, 64, 64, GetParam());
  if (group_.size() == 1) {
    EXPECT_EQ(exchange.Description(), "one rank");
    EXPECT_FALSE(exchange.uses_shared_memory());
  } else if (GetParam() == Transport::kMessages) {
    EXPECT_EQ(exchange.Description(), "messages (asked for)");
    EXPECT_FALSE(exchange.uses_shared_memory());
  } else {
    EXPECT_EQ(exchange.Description(), "shared window");
    EXPECT_TRUE(exchange.uses_shared_memory());
  }
}

TEST_P(RowExchangeOver, EveryRowHasOneOwnerAndNoneHasTwoMoreThanAnother) {
  const RowExchange exchange(group_, 100, 4, 4, GetParam());
  for (std::int64_t rows = 0; rows <= 100; ++rows) {
    const Range own = exchange.OwnRows(rows);
    const std::vector<int> begins = group_.AllGather(static_cast<int>(own.begin));
    const std::vector<int> ends = group_.AllGather(static_cast<int>(own.end));
    EXPECT_EQ(begins.front(), 0);
    EXPECT_EQ(ends.back(), rows);
    EXPECT_TRUE(std::equal(begins.begin() + 1, begins.end(), ends.begin()));
    EXPECT_GE(own.size(), rows / group_.size());
    EXPECT_LE(own.size(), (rows + group_.size() - 1) / group_.size());
  }
}

// Fewer rows than ranks, none, slices that differ; after many rows few, where old bytes would show.
TEST_P(RowExchangeOver, BringsEveryRowWhereItBelongs) {
  constexpr std::int64_t kMaxRows = 67;
  // No size is a multiple of another, or of a word.
  constexpr Bytes kBytes = {61, 13};
  RowExchange exchange(group_, kMaxRows, kBytes.summand, kBytes.shared, GetParam());
  std::int64_t round = 0;
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 0, 67, 1, 66, 0, 0, 7, 64, 3, 67, 67, 2, 31, 1}) {
    Round(exchange, group_, round++, rows, kBytes);
  }
  for (std::int64_t i = 0; i < 150; ++i) {
    Round(exchange, group_, round++, i * i % (kMaxRows + 1), kBytes);
  }
}

TEST_P(RowExchangeOver, TakesLargeRows) {
  constexpr Bytes kBytes = {(1 << 20) + 1, (1 << 19) - 1};
  RowExchange exchange(group_, 7, kBytes.summand, kBytes.shared, GetParam());
  std::int64_t round = 0;
  for (const std::int64_t rows : {7, 1, 6}) {
    Round(exchange, group_, round++, rows, kBytes);
  }
}

// Whoever dawdles, wherever: nobody else reads too early or overwrites what is still to be read.
TEST_P(RowExchangeOver, WaitsForRanksThatDawdle) {
  constexpr Bytes kBytes = {96, 48};
  RowExchange exchange(group_, 32, kBytes.summand, kBytes.shared, GetParam());
  std::int64_t round = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    for (int slow = 0; slow < group_.size(); ++slow) {
      for (const Dawdling where : {Dawdling::kBeforeSummands, Dawdling::kBeforeParts,
                                   Dawdling::kBeforeSharing, Dawdling::kBeforeReading}) {
        const Dawdling mine = group_.rank() == slow ? where : Dawdling::kNowhere;
        Round(exchange, group_, round++, 32, kBytes, mine);
        Round(exchange, group_, round++, 3, kBytes);
      }
    }
  }
}

// What was shared may be followed by rows without summands, and by fewer or more than they were.
TEST_P(RowExchangeOver, SharesRowsThatHaveNoSummands) {
  constexpr std::int64_t kRows = 9;
  constexpr std::int64_t kBytes = 40;
  RowExchange exchange(group_, kRows, 4, kBytes, GetParam());
  for (std::int64_t round = 0; round < 20; ++round) {
    exchange.ExchangeSummands(0);
    const Range own = exchange.OwnRows(kRows);
    for (std::int64_t row = own.begin; row < own.end; ++row) {
      Pattern(round, kFinished, row).Write(exchange.shared_rows() + row * kBytes, kBytes);
    }
    exchange.ShareRows(kRows);
    for (std::int64_t row = 0; row < kRows; ++row) {
      EXPECT_TRUE(
          Pattern(round, kFinished, row).Matches(exchange.shared_rows() + row * kBytes, kBytes));
    }
  }
}

// Two exchanges, and the group's own messages, do not get into each other's way.
TEST_P(RowExchangeOver, GoesBesideOtherTraffic) {
  constexpr Bytes kBytes = {24, 8};
  RowExchange first(group_, 10, kBytes.summand, kBytes.shared, GetParam());
  RowExchange second(group_, 10, kBytes.summand, kBytes.shared, GetParam());
  for (std::int64_t round = 0; round < 50; ++round) {
    std::vector<std::byte> plan(1 << 15, group_.is_root() ? std::byte{7} : std::byte{0});
    group_.Broadcast(plan);
    Round(first, group_, 2 * round, 10, kBytes);
    Round(second, group_, 2 * round + 1, round % 11, kBytes);
    EXPECT_EQ(std::count(plan.begin(), plan.end(), std::byte{7}), 1 << 15);
  }
}

TEST_P(RowExchangeOver, CountsTheBytesOfOtherRanks) {
  constexpr Bytes kBytes = {60, 20};
  RowExchange exchange(group_, 50, kBytes.summand, kBytes.shared, GetParam());
  std::int64_t expected = 0;
  for (const std::int64_t rows : {50, 0, 1, 7}) {
    Round(exchange, group_, rows, rows, kBytes);
    const std::int64_t own = exchange.OwnRows(rows).size();
    expected += (group_.size() - 1) * own * kBytes.summand + (rows - own) * kBytes.shared;
    EXPECT_EQ(exchange.cost().bytes, expected);
  }
  const RowExchange::Cost cost = exchange.TakeCost();
  EXPECT_EQ(cost.bytes, expected);
  // The time is of the kind that the transport has.
  EXPECT_EQ(cost.wait_seconds > 0, exchange.uses_shared_memory());
  EXPECT_EQ(cost.transfer_seconds > 0, group_.size() > 1 && !exchange.uses_shared_memory());
  EXPECT_EQ(exchange.cost().bytes, 0);
  EXPECT_EQ(exchange.cost().wait_seconds, 0);
  EXPECT_EQ(exchange.cost().transfer_seconds, 0);
}

/// A figure of /proc/self/status, in bytes.
std::int64_t Status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoll(line.substr(name.size() + 1)) * 1024;
    }
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST_P(RowExchangeOver, TouchesOnlyThePagesThatAreUsed) {
  constexpr Bytes kBytes = {1024, 512};
  constexpr std::int64_t kMaxRows = 32 * 1024;
  constexpr std::int64_t kMostTouched = kMaxRows * kBytes.shared / 2;
  const std::int64_t before = Status("RssAnon") + Status("RssShmem");
  RowExchange exchange(group_, kMaxRows, kBytes.summand, kBytes.shared, GetParam());
  Round(exchange, group_, 0, 10, kBytes);
  EXPECT_LT(Status("RssAnon") + Status("RssShmem") - before, kMostTouched);
}

INSTANTIATE_TEST_SUITE_P(Transports, RowExchangeOver,
                         ::testing::Values(Transport::kFastest, Transport::kMessages),
                         [](const auto& param) {
                           return param.param == Transport::kFastest ? "Fastest" : "Messages";
                         });

// A window has no name once it is made: whatever ends the ranks, nothing of it stays.
TEST(RowExchangeWindow, HasNoName) {
  const Communicator group = Communicator::World();
  const RowExchange exchange(group, 100, 1024, 1024);
  std::vector<std::string> windows;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/osc_sm.") != std::string::npos) {
      windows.push_back(line);
    }
  }
  EXPECT_EQ(windows.empty(), group.size() == 1);
  EXPECT_THAT(windows, ::testing::Each(::testing::EndsWith(" (deleted)")));
}

// Where the window's file system is too small, every rank goes over to messages at start.
TEST(RowExchangeWindow, IsNotMadeWithoutTheSpace) {
  const Communicator group = Communicator::World();
  constexpr Bytes kBytes = {1 << 20, 16};
  constexpr std::int64_t kTebibyte = 1 << 20;  // In such rows.
  RowExchange exchange(group, kTebibyte, kBytes.summand, kBytes.shared);
  EXPECT_FALSE(exchange.uses_shared_memory());
  if (group.size() > 1) {
    EXPECT_THAT(exchange.Description(),
                ::testing::MatchesRegex("messages \\(.* has [0-9]+ MiB free, not [0-9]+\\)"));
  }
  Round(exchange, group, 0, 5, kBytes);
}

}  // namespace
}  // namespace scorecast::proto
