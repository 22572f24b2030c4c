#include "shard/runtime/aligned_buffer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "proto/base/error.h"

namespace scorecast::shard {
namespace aligned_buffer_test {

TEST(AlignedBuffer, IsZeroedAndAligned) {
  AlignedBuffer<float> buffer(1001);
  EXPECT_EQ(buffer.size(), 1001U);
  EXPECT_EQ(buffer.span().size(), 1001U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
  EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](float f) { return f == 0; }));
}

/// A line of /proc/self/smaps about the mapping that begins at `data`; -1 if there is none.
std::int64_t OfMapping(const void* data, std::string_view key) {
  std::ifstream maps("/proc/self/smaps");
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<std::uintptr_t>(data) << '-';
  bool is_found = false;
  for (std::string line; std::getline(maps, line);) {
    is_found = is_found || line.starts_with(begin.str());
    if (is_found && line.starts_with(key)) {
      return std::stoll(line.substr(line.find(':') + 1));
    }
  }
  return -1;
}

TEST(AlignedBuffer, IsInHugePagesIfItPrefersThem) {
  std::string enabled;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), enabled);
  if (enabled.empty() || enabled.find("[never]") != std::string::npos ||
      prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) != 0) {
    GTEST_SKIP() << "the system gives no huge pages";
  }
  constexpr std::size_t kHugePage = std::size_t{2} << 20U;
  for (const std::size_t size : {kHugePage, 3 * kHugePage + 12345}) {
    AlignedBuffer<std::byte> buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kHugePage, 0U);
    buffer.PreferHugePages();
    std::ranges::fill(buffer.span(), std::byte{1});
    const std::int64_t huge_kb = OfMapping(buffer.data(), "AnonHugePages:");
    if (huge_kb <= 0 && OfMapping(buffer.data(), "THPeligible:") != 0) {
      GTEST_SKIP() << "the system has no huge page left, or does not say which pages are huge";
    }
    EXPECT_EQ(huge_kb, size / kHugePage * kHugePage / 1024);
  }
}

TEST(AlignedBuffer, OfNothing) {
  AlignedBuffer<float> none;
  AlignedBuffer<float> empty(0);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_TRUE(empty.span().empty());
}

TEST(AlignedBuffer, MovesItsPages) {
  AlignedBuffer<float> buffer(10);
  buffer.data()[3] = 7;
  const float* pages = buffer.data();
  AlignedBuffer<float> moved = std::move(buffer);
  EXPECT_EQ(moved.data(), pages);
  EXPECT_EQ(moved.data()[3], 7);
  AlignedBuffer<float> assigned(5);
  assigned = std::move(moved);
  EXPECT_EQ(assigned.data(), pages);
  EXPECT_EQ(assigned.size(), 10U);
}

TEST(AlignedBuffer, MoreThanTheAddressSpaceIsAStartupFault) {
  EXPECT_THROW(AlignedBuffer<float>(std::size_t{1} << 50), proto::StartupError);
}

// A size in bytes that overflows size_t must not wrap around.
TEST(AlignedBuffer, SizeThatOverflowsIsAStartupFault) {
  EXPECT_THROW(AlignedBuffer<float>(std::numeric_limits<std::size_t>::max() / 4 + 2),
               proto::StartupError);
}

}  // namespace aligned_buffer_test
}  // namespace scorecast::shard
