#include "shard/runtime/aligned_buffer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "proto/base/error.h"

namespace scorecast::shard {
namespace {

TEST(AlignedBuffer, IsZeroedAndAligned) {
  AlignedBuffer<float> buffer(1001);
  EXPECT_EQ(buffer.size(), 1001U);
  EXPECT_EQ(buffer.span().size(), 1001U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
  EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](float f) { return f == 0; }));
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

}  // namespace
}  // namespace scorecast::shard
