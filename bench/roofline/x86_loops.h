#pragma once

#include <cstdint>

namespace scorecast::bench {

// Each is compiled for its instruction set in a file of its own. One iteration is kChains
// instructions that do not wait for each other: more than enough for two units of a latency of
// five.

inline constexpr int kChains = 12;

void Avx2Fma(std::int64_t iterations);        ///< vfmadd231ps ymm: 16 operations each.
void Avx512Fma(std::int64_t iterations);      ///< vfmadd231ps zmm: 32.
void Avx512DotBf16(std::int64_t iterations);  ///< vdpbf16ps zmm: 64.
void Avx512DotInt8(std::int64_t iterations);  ///< vpdpbusd zmm: 128.

/// Of the tile products one iteration has four, one for each accumulator.
inline constexpr int kTileProducts = 4;

void AmxTileBf16(std::int64_t iterations);  ///< tdpbf16ps: 16 x 16 x 32 x 2 operations each.
void AmxTileInt8(std::int64_t iterations);  ///< tdpbusd: 16 x 16 x 64 x 2.

/// The sum of so many words, a multiple of 64, by loads of whole cache lines.
std::uint64_t Avx512Sum(const std::uint64_t* words, std::int64_t count);

}  // namespace scorecast::bench
