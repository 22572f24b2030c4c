#pragma once

#include <array>

namespace scorecast::reference {

/// The directories of tests/golden/families whose models scorecast supports. Tests of the engine,
/// of the memory estimate and of the executable run for each of them.
inline constexpr std::array kGoldenFamilies = {"llama", "llama-nine-heads", "llama-bias", "qwen3"};

}  // namespace scorecast::reference
