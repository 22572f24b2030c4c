#include "bench/roofline/memory_reads.h"

#include <gtest/gtest.h>

namespace scorecast::bench {
namespace memory_reads_test {

TEST(MemoryReads, ReadEveryWordOnce) {
  constexpr std::int64_t kBytes = 5 * 1000 * 1000;
  for (const int threads : {1, 3}) {
    shard::ThreadPool pool(threads);
    MemoryReads reads(kBytes, pool);
    const auto words = static_cast<std::uint64_t>(reads.words());
    EXPECT_GE(words * sizeof(std::uint64_t), kBytes);
    EXPECT_EQ(reads.Sum(), words * (words - 1) / 2);
    EXPECT_EQ(reads.Sum(), words * (words - 1) / 2);
  }
}

}  // namespace memory_reads_test
}  // namespace scorecast::bench
