#include "shard/model/rope_table.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::shard {
namespace rope_table_test {

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
      RopeTable table({.theta = theta}, head_dim);
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

struct ScaledCase {
  proto::RopeConfig config;
  std::vector<double> frequencies;  // inv_freq of transformers 5.23 for a head_dim of 16 or 8.
};

const std::array<ScaledCase, 5> kScaled = {{
    {{.type = proto::RopeType::kLinear, .theta = 1e4, .factor = 4},
     {0x1p-2, 0x1.43d136p-4, 0x1.99999ap-6, 0x1.030dc6p-7, 0x1.47ae14p-9, 0x1.9e7c7p-11,
      0x1.0624dep-12, 0x1.4b96cp-14}},
    {{.type = proto::RopeType::kLlama3,
      .theta = 5e5,
      .factor = 8,
      .original_max_position_embeddings = 8192},
     {0x1p+0, 0x1.8d276p-3, 0x1.34119p-5, 0x1.ddee9ep-8, 0x1.132ba4p-11, 0x1.1f91fp-15,
      0x1.be2188p-18, 0x1.5a0f4ep-20}},
    {{.type = proto::RopeType::kYarn,
      .theta = 1e6,
      .factor = 4,
      .original_max_position_embeddings = 32768,
      .attention_factor = 1.138629436111989},
     {0x1p+0, 0x1.6c310ep-3, 0x1.030dc6p-5, 0x1.1466eap-8, 0x1.0624dep-11, 0x1.74eea6p-15,
      0x1.094564p-17, 0x1.796182p-20}},
    {{.type = proto::RopeType::kYarn,
      .theta = 1e4,
      .factor = 2.5,
      .original_max_position_embeddings = 1000,
      .beta_fast = 16,
      .beta_slow = 2,
      .truncate = false,
      .attention_factor = 0.9508743010333485},
     {0x1p+0, 0x1.43d136p-2, 0x1.98f96p-4, 0x1.59344ep-6, 0x1.0624dep-8, 0x1.4b96cp-10,
      0x1.a36e2ep-12, 0x1.094566p-13}},
    // The ramp has no length.
    {{.type = proto::RopeType::kYarn,
      .theta = 1e4,
      .factor = 4,
      .original_max_position_embeddings = 4,
      .attention_factor = 1.5},
     {0x1p+0, 0x1.99999ap-6, 0x1.47ae14p-9, 0x1.0624dep-12}},
}};

TEST(RopeTable, ScaledFrequenciesAreThoseOfTransformers) {
  for (const ScaledCase& one : kScaled) {
    const auto half = static_cast<std::int64_t>(one.frequencies.size());
    RopeTable table(one.config, 2 * half);
    table.Extend(1001);
    for (const std::int64_t position : {0, 1, 1000}) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(position) * one.frequencies[static_cast<std::size_t>(i)];
        const double factor = one.config.attention_factor;
        // Up to eight roundings to the frequency and the angle; then the cosine, the factor and
        // their product.
        const double tolerance = factor * (8 * angle + 3) * 0x1p-24;
        EXPECT_NEAR(table.cosine(position)[i], factor * std::cos(angle), tolerance)
            << "factor " << one.config.factor << ", i " << i << ", " << position;
        EXPECT_NEAR(table.sine(position)[i], factor * std::sin(angle), tolerance)
            << "factor " << one.config.factor << ", i " << i << ", " << position;
      }
    }
  }
}

TEST(RopeTable, PositionZeroRotatesNothing) {
  RopeTable table({.theta = 1e4}, 16);
  table.Extend(1);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(table.cosine(0)[i], 1);
    EXPECT_EQ(table.sine(0)[i], 0);
  }
}

TEST(RopeTable, GrowthChangesNoBits) {
  RopeTable at_once({.theta = 1e6}, 80);
  at_once.Extend(3000);
  RopeTable grown({.theta = 1e6}, 80);
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

}  // namespace rope_table_test
}  // namespace scorecast::shard
