#include "shard/model/rope_table.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::shard {
namespace {

/// transformers' default RoPE, step by step, each result the nearest float32:
///   inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
///   angle = position * inv_freq
/// The steps that are not correctly rounded by themselves are taken in long double.
float Angle(double theta, std::int64_t head_dim, std::int64_t i, std::int64_t position) {
  const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
  const auto power = static_cast<float>(
      std::pow(static_cast<long double>(theta), static_cast<long double>(exponent)));
  const float frequency = 1.0F / power;
  return static_cast<float>(position) * frequency;
}

constexpr std::array<std::int64_t, 4> kPositions = {0, 1, 1000, 40959};

TEST(RopeTable, AgreesWithTransformersInFloat32) {
  for (const double theta : {1e4, 5e5, 1e6}) {
    for (const std::int64_t head_dim : {2, 8, 16, 80, 96, 128}) {
      RopeTable table({theta}, head_dim);
      table.Extend(kPositions.back() + 1);
      for (const std::int64_t position : kPositions) {
        for (std::int64_t i = 0; i < head_dim / 2; ++i) {
          const long double angle = Angle(theta, head_dim, i, position);
          // The nearest float32 or its neighbour, because the exact cosine is only known as a
          // float64.
          const double cosine = static_cast<double>(std::cos(angle));
          const double sine = static_cast<double>(std::sin(angle));
          EXPECT_NEAR(table.cosine(position)[i], cosine, std::abs(cosine) * 0x1.00001p-24)
              << "theta " << theta << ", head_dim " << head_dim << ", i " << i << ", " << position;
          EXPECT_NEAR(table.sine(position)[i], sine, std::abs(sine) * 0x1.00001p-24)
              << "theta " << theta << ", head_dim " << head_dim << ", i " << i << ", " << position;
        }
      }
    }
  }
}

TEST(RopeTable, PositionZeroRotatesNothing) {
  RopeTable table({1e4}, 16);
  table.Extend(1);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(table.cosine(0)[i], 1);
    EXPECT_EQ(table.sine(0)[i], 0);
  }
}

TEST(RopeTable, GrowthChangesNoBits) {
  RopeTable at_once({1e6}, 80);
  at_once.Extend(3000);
  RopeTable grown({1e6}, 80);
  for (const std::int64_t end : {0, 1, 3, 3, 64, 65, 2, 1000, 3000}) {
    grown.Extend(end);
  }
  for (std::int64_t position = 0; position < 3000; ++position) {
    for (std::int64_t i = 0; i < 40; ++i) {
      ASSERT_EQ(grown.cosine(position)[i], at_once.cosine(position)[i]);
      ASSERT_EQ(grown.sine(position)[i], at_once.sine(position)[i]);
    }
  }
}

TEST(RopeTable, BytesAreThoseOfTheGrownTable) {
  EXPECT_EQ(RopeTable::Bytes(16, 1024), 1024 * 16 * 4);
  EXPECT_EQ(RopeTable::Bytes(16, 1025), 2048 * 16 * 4);
}

}  // namespace
}  // namespace scorecast::shard
