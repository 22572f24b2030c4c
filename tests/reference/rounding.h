#pragma once

#include <span>

namespace scorecast::reference {

/// Precision to which the factors of matrix products are rounded; see ReferenceModel.
enum class Precision { kExact, kFloat32, kBfloat16, kInt8 };

struct Rounding {
  Precision products = Precision::kExact;
  /// Whether the summands that layers add to the residual stream are rounded, too: to float32 or
  /// bfloat16. The engine does that if there are several ranks.
  bool summands = false;
};

/// The nearest bfloat16, ties to even, for numbers that are finite and not tiny.
double ToBfloat16(double x);
void ToBfloat16(std::span<double> row);

/// Rounds a row to multiples of max |x| / 127, in a basis in which an outlier is spread over many
/// elements. The basis is that of the Hadamard matrix whose size is the largest power of two that
/// divides the length, at most 1024, applied block by block. The matrix over the root of its size
/// is its own inverse. The row is returned in its original basis, which does not change products of
/// two rounded rows.
void ToInt8(std::span<double> row);

void Round(Precision precision, std::span<double> row);

}  // namespace scorecast::reference
