#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace scorecast::shard {

/// The type to which the factors of a matrix product are rounded. Sums are float32 (int8: int32).
enum class Precision : std::uint8_t { kFloat32, kBfloat16, kInt8 };

constexpr std::int64_t ElementSize(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return 4;
    case Precision::kBfloat16:
      return 2;
    case Precision::kInt8:
      return 1;
  }
  return 0;
}

/// Precisions of a model's products.
struct ProductPrecisions {
  Precision layers = Precision::kFloat32;
  Precision lm_head = Precision::kFloat32;
};

/// The spelling of --dtype.
constexpr std::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "f32";
    case Precision::kBfloat16:
      return "bf16";
    case Precision::kInt8:
      return "int8";
  }
  return "";
}

/// The precision that --dtype spells as `name`; none for "auto".
constexpr std::optional<Precision> PrecisionFromName(std::string_view name) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
    if (Name(precision) == name) {
      return precision;
    }
  }
  return std::nullopt;
}

}  // namespace scorecast::shard
