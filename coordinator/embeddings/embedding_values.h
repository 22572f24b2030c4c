#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// How alike two vectors are, by the names of sentence-transformers.
enum class Similarity : std::uint8_t {
  kCosine,
  kDot,
  kEuclidean,  ///< The distance, with a minus sign.
  kManhattan,  ///< The sum of the absolute differences, with a minus sign.
};

/// "cosine", "dot", "euclidean", "manhattan"
std::string_view NameOf(Similarity similarity);

/// Divides a vector by its length, which is computed in float64 in the order of its values. A
/// vector of zeros, or one whose length is 1 but for rounding, stays as it is.
void Normalize(std::span<float> values);

/// The similarity of two vectors of the same size, computed in the same way. A cosine is 0 if one
/// of them is zero.
double SimilarityOf(Similarity similarity, std::span<const float> a, std::span<const float> b);

/// Base64 of the values as float32 in little-endian order.
std::string Base64Of(std::span<const float> values);

/// Base64 of bytes, signed or unsigned ones.
std::string Base64Of(std::span<const std::int32_t> bytes);

/// A bit for each value, which is 1 if the value is above 0, eight in a byte, the first one in the
/// high bit. The number of values is a multiple of 8. Signed bytes are 128 less than unsigned ones.
std::vector<std::int32_t> PackedBits(std::span<const float> values, bool is_signed);

}  // namespace scorecast::coordinator
