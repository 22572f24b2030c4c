#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scorecast::coordinator {

/// Divides a vector by its length, which is computed in float64 in the order of its values. A
/// vector of zeros, or one whose length is 1 but for rounding, stays as it is.
void Normalize(std::span<float> values);

/// The cosine of the angle between two vectors of the same size, computed in the same way. 0 if one
/// of them is zero.
double Cosine(std::span<const float> a, std::span<const float> b);

/// Base64 of the values as float32 in little-endian order.
std::string Base64Of(std::span<const float> values);

/// Base64 of bytes, signed or unsigned ones.
std::string Base64Of(std::span<const std::int32_t> bytes);

/// A bit for each value, which is 1 if the value is above 0, eight in a byte, the first one in the
/// high bit. The number of values is a multiple of 8. Signed bytes are 128 less than unsigned ones.
std::vector<std::int32_t> PackedBits(std::span<const float> values, bool is_signed);

}  // namespace scorecast::coordinator
