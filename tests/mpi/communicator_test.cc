#include "proto/mpi/communicator.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/error.h"

namespace scorecast::proto {
namespace {

constexpr std::size_t kColumns = 96;

/// A row of one rank's summands, with values whose sum depends on the order of adding.
std::vector<float> SummandRow(int rank) {
  std::vector<float> row(kColumns);
  for (std::size_t c = 0; c < kColumns; ++c) {
    const auto seed = static_cast<std::uint32_t>((rank + 1) * 7919 + static_cast<int>(c) * 104729);
    row[c] = static_cast<float>(static_cast<std::int32_t>(seed * 2654435761U)) *
             (rank % 2 == 0 ? 1e-3F : 1e-9F);
  }
  return row;
}

std::vector<float> ExpectedRow(int ranks) {
  std::vector<float> sum = SummandRow(0);
  for (int r = 1; r < ranks; ++r) {
    const std::vector<float> row = SummandRow(r);
    for (std::size_t c = 0; c < kColumns; ++c) {
      sum[c] += row[c];
    }
  }
  return sum;
}

// Equal rows give equal bits, wherever they stand and however many there are: on 3 ranks
// MPI_Allreduce does not.
TEST(AllReduceSum, AddsInRankOrderForEveryNumberOfRows) {
  Communicator group = Communicator::World();
  const std::vector<float> mine = SummandRow(group.rank());
  const std::vector<float> expected = ExpectedRow(group.size());
  for (std::size_t rows = 1; rows <= 512; ++rows) {
    std::vector<float> data;
    for (std::size_t r = 0; r < rows; ++r) {
      data.insert(data.end(), mine.begin(), mine.end());
    }
    group.AllReduceSum(data);
    for (std::size_t r = 0; r < rows; ++r) {
      ASSERT_EQ(std::memcmp(data.data() + r * kColumns, expected.data(), kColumns * sizeof(float)),
                0)
          << "row " << r << " of " << rows;
    }
  }
}

// More elements than ranks, fewer, none, and around the border between the two exchanges.
TEST(AllReduceSum, TakesAnyNumberOfElements) {
  Communicator group = Communicator::World();
  for (const std::size_t n : {0U, 1U, 2U, 3U, 5U, 4095U, 4096U, 4097U, 4099U, 100003U}) {
    std::vector<float> data(n, static_cast<float>(group.rank() + 1));
    group.AllReduceSum(data);
    const auto sum = static_cast<float>(group.size() * (group.size() + 1) / 2);
    EXPECT_EQ(data, std::vector<float>(n, sum));
  }
}

TEST(Communicator, BroadcastsRankZerosBytes) {
  const Communicator group = Communicator::World();
  const std::string sent = "from rank 0";
  std::string text = group.is_root() ? sent : std::string(sent.size(), '?');
  group.Broadcast(std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, sent);
}

TEST(Communicator, GathersDifferentCountsInRankOrder) {
  const Communicator group = Communicator::World();
  std::vector<int> counts;
  std::string expected;
  for (int r = 0; r < group.size(); ++r) {
    counts.push_back(r * 3);
    expected += std::string(static_cast<std::size_t>(r) * 3, static_cast<char>('a' + r));
  }
  const std::string mine(static_cast<std::size_t>(group.rank()) * 3,
                         static_cast<char>('a' + group.rank()));
  std::string all(group.is_root() ? expected.size() : 0, '?');
  group.GatherToRoot(std::as_bytes(std::span(mine)), counts,
                     std::as_writable_bytes(std::span(all)));
  if (group.is_root()) {
    EXPECT_EQ(all, expected);
  }
}

TEST(StartupPhase, ReportsTheFirstFaultOnEveryRank) {
  const Communicator group = Communicator::World();
  EXPECT_NO_THROW(StartupPhase(group, [] {}));
  const int last = group.size() - 1;
  try {
    StartupPhase(group, [&] {
      if (group.rank() == last) {
        throw StartupError("no such file");
      }
    });
    FAIL() << "a rank's fault is every rank's";
  } catch (const StartupError& fault) {
    EXPECT_STREQ(fault.what(), last == 0
                                   ? "no such file"
                                   : ("rank " + std::to_string(last) + ": no such file").c_str());
  }
}

}  // namespace
}  // namespace scorecast::proto
