#pragma once

#include <span>

namespace scorecast::reference {

/// What the factors of matrix products are rounded to: see ReferenceModel.
enum class Precision { kExact, kBfloat16, kInt8 };

struct Rounding {
  Precision products = Precision::kExact;
  /// Whether what layers add to the residual stream is rounded to bfloat16: it is where several
  /// ranks send each other their parts of it.
  bool summands = false;
};

/// The nearest bfloat16, ties to even; for numbers that are finite and not tiny.
double ToBfloat16(double x);
void ToBfloat16(std::span<double> row);

/// Rounds a row to multiples of max |x| / 127 in a basis in which an outlier is spread over many
/// elements: that of the Hadamard matrix of the largest power of two that divides the length, 1024
/// at most, block by block. Such a matrix, over the root of its size, is its own inverse: the row
/// is given back in the basis that it came in, so that products of two rounded rows are theirs.
void ToInt8(std::span<double> row);

void Round(Precision precision, std::span<double> row);

}  // namespace scorecast::reference
