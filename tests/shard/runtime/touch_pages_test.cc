#include "shard/runtime/touch_pages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "shard/runtime/aligned_buffer.h"
#include "tests/shard/resident_pages.h"

namespace scorecast::shard {
namespace touch_pages_test {

using testing::CountPages;

constexpr std::size_t kPage = 4096;

class TouchPagesTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::DisableHugePages(); }
};
using TouchPagesToReadTest = TouchPagesTest;

// More pages than one task takes.
TEST_F(TouchPagesTest, BringsEveryPageIntoMemory) {
  ThreadPool pool(3);
  AlignedBuffer<std::byte> buffer(1000 * kPage);
  EXPECT_EQ(CountPages(buffer.span()).resident, 0U);
  TouchPages(buffer.span().first(700 * kPage), pool);
  EXPECT_EQ(CountPages(buffer.span().first(700 * kPage)).resident, 700U);
  EXPECT_EQ(CountPages(buffer.span().subspan(700 * kPage)).resident, 0U);
}

TEST_F(TouchPagesTest, BeginsAndEndsInsideOfPages) {
  ThreadPool pool(2);
  AlignedBuffer<std::byte> buffer(10 * kPage);
  TouchPages(buffer.span().subspan(2 * kPage - 1, 3 * kPage + 2), pool);
  EXPECT_EQ(CountPages(buffer.span()).resident, 5U);
  EXPECT_EQ(CountPages(buffer.span().subspan(kPage, 5 * kPage)).resident, 5U);
}

TEST_F(TouchPagesTest, LeavesZerosAsTheyAre) {
  ThreadPool pool(2);
  AlignedBuffer<std::byte> buffer(3 * kPage);
  TouchPages(buffer.span(), pool);
  EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(TouchPagesToReadTest, ChangesNothing) {
  ThreadPool pool(2);
  AlignedBuffer<std::byte> buffer(3 * kPage);
  std::ranges::fill(buffer.span(), std::byte{7});
  TouchPagesToRead(buffer.span(), pool);
  EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](std::byte b) { return b == std::byte{7}; }));
}

// One page fault a page: a second one would come if the page were read first.
TEST_F(TouchPagesTest, FaultsOnceAPage) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' own pages fault too";
#endif
  constexpr std::int64_t kPages = 1000;
  ThreadPool pool(1);
  AlignedBuffer<std::byte> buffer(kPages * kPage);
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  const std::int64_t before = faults();
  TouchPages(buffer.span(), pool);
  std::ranges::fill(buffer.span(), std::byte{1});
  EXPECT_LT(faults() - before, kPages + kPages / 10);
}

TEST_F(TouchPagesTest, OfNothing) {
  ThreadPool pool(1);
  TouchPages({}, pool);
  TouchPagesToRead({}, pool);
}

TEST_F(TouchPagesToReadTest, BringsEveryPageIntoMemory) {
  ThreadPool pool(2);
  AlignedBuffer<std::byte> buffer(300 * kPage);
  TouchPagesToRead(buffer.span(), pool);
  EXPECT_EQ(CountPages(buffer.span()).resident, 300U);
}

}  // namespace touch_pages_test
}  // namespace scorecast::shard
