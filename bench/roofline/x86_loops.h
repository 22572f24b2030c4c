#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace scorecast::bench {

// Each function is compiled for its instruction set in a file of its own. One iteration has kChains
// instructions that do not depend on each other, which is more than enough for two units with a
// latency of five cycles.

inline constexpr int kChains = 12;

void Avx2Fma(std::int64_t iterations);         ///< vfmadd231ps ymm: 16 operations each.
void Avx2DotInt16(std::int64_t iterations);    ///< vpmaddwd and vpaddd ymm: 32 together.
void AvxVnniDotInt8(std::int64_t iterations);  ///< vpdpbusd ymm: 64.
void Avx512Fma(std::int64_t iterations);       ///< vfmadd231ps zmm: 32.
void Avx512DotInt16(std::int64_t iterations);  ///< vpmaddwd and vpaddd zmm: 64 together.
void Avx512DotBf16(std::int64_t iterations);   ///< vdpbf16ps zmm: 64.
void Avx512DotInt8(std::int64_t iterations);   ///< vpdpbusd zmm: 128.

/// Tile products in one iteration, one for each accumulator.
inline constexpr int kTileProducts = 4;

void AmxTileBf16(std::int64_t iterations);  ///< tdpbf16ps: 16 x 16 x 32 x 2 operations each.
void AmxTileInt8(std::int64_t iterations);  ///< tdpbusd: 16 x 16 x 64 x 2.

/// The sum of `count` words, a multiple of 64, by loads of whole cache lines.
std::uint64_t Avx512Sum(const std::uint64_t* words, std::int64_t count);

/// Applies step(sum) to kChains sums, `iterations` times. It is a template so that every
/// instruction set's file compiles a copy of its own, in which everything stays in registers.
template <typename Vector, typename Step>
void RunChains(std::int64_t iterations, Vector zero, Step step) {
  const auto next = [&](Vector sum) __attribute__((always_inline)) {
    sum = step(sum);
    __asm__ volatile("" : "+v"(sum));  // Keeps the compiler from merging or removing iterations.
    return sum;
  };
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    Vector sums[kChains] = {((void)kI, zero)...};
    for (std::int64_t i = 0; i < iterations; ++i) {
      ((sums[kI] = next(sums[kI])), ...);
    }
  }
  (std::make_index_sequence<kChains>());
}

}  // namespace scorecast::bench
