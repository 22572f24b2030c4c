#include "proto/mpi/communicator.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/error.h"

namespace scorecast::proto {
namespace communicator_test {

TEST(Communicator, BroadcastsRankZerosBytes) {
  const Communicator group = Communicator::World();
  const std::string sent = "from rank 0";
  std::string text = group.is_root() ? sent : std::string(sent.size(), '?');
  group.Broadcast(std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, sent);
}

TEST(Communicator, BroadcastsMoreThanOneMessage) {
  const Communicator group = Communicator::World();
  const std::size_t bytes = (std::size_t{1} << 26) + 5;
  std::vector<std::byte> sent(bytes, group.is_root() ? std::byte{7} : std::byte{0});
  if (group.is_root()) {
    sent.back() = std::byte{9};
  }
  group.Broadcast(sent);
  EXPECT_EQ(std::count(sent.begin(), sent.end(), std::byte{7}),
            static_cast<std::ptrdiff_t>(bytes) - 1);
  EXPECT_EQ(sent.back(), std::byte{9});
}

TEST(Communicator, GathersDifferentCountsInRankOrder) {
  const Communicator group = Communicator::World();
  std::vector<std::size_t> counts;
  std::string expected;
  for (int r = 0; r < group.size(); ++r) {
    counts.push_back(static_cast<std::size_t>(r) * 3);
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
    FAIL() << "a fault of one rank must be thrown on all";
  } catch (const StartupError& fault) {
    EXPECT_STREQ(fault.what(), last == 0
                                   ? "no such file"
                                   : ("rank " + std::to_string(last) + ": no such file").c_str());
  }
}

}  // namespace communicator_test
}  // namespace scorecast::proto
