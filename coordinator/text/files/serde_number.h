#pragma once

#include <string_view>

namespace scorecast::coordinator {

/// The value of a decimal number in JSON as Rust's serde_json computes it without its feature
/// float_roundtrip: the first digits that fit into a 64-bit integer, times or divided by a power of
/// ten. The last bit often differs from that of the nearest float64.
double SerdeNumber(std::string_view spelling);

}  // namespace scorecast::coordinator
