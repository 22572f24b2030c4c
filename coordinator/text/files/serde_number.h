#pragma once

#include <string_view>

namespace scorecast::coordinator {

/// The value of a decimal number in JSON as Rust's serde_json computes it without its feature
/// float_roundtrip: the first digits, as a whole number of 64 bits, times or divided by a power of
/// ten. The last bit is often not that of the nearest float64.
double SerdeNumber(std::string_view spelling);

}  // namespace scorecast::coordinator
