#include <immintrin.h>

#include "bench/roofline/x86_loops.h"

namespace scorecast::bench {

void Avx512Fma(std::int64_t iterations) {
  const __m512 a = _mm512_set1_ps(0.5F);
  const __m512 b = _mm512_set1_ps(0.25F);
  RunChains(iterations, _mm512_setzero_ps(),
            [&](__m512 sum) { return _mm512_fmadd_ps(a, b, sum); });
}

void Avx512DotInt16(std::int64_t iterations) {
  const __m512i a = _mm512_set1_epi16(300);
  const __m512i b = _mm512_set1_epi16(-5);
  RunChains(iterations, _mm512_setzero_si512(), [&](__m512i sum) {
    __m512i product;
    // The intrinsic's result does not change, so the compiler would compute it once.
    __asm__ volatile("vpmaddwd %1, %2, %0" : "=v"(product) : "v"(a), "v"(b));
    return _mm512_add_epi32(sum, product);
  });
}

std::uint64_t Avx512Sum(const std::uint64_t* words, std::int64_t count) {
  constexpr int kSums = 8;
  constexpr int kLane = 8;
  __m512i sums[kSums];
  for (__m512i& sum : sums) {
    sum = _mm512_setzero_si512();
  }
  for (std::int64_t i = 0; i < count; i += kSums * kLane) {
    for (int j = 0; j < kSums; ++j) {
      sums[j] = _mm512_add_epi64(sums[j], _mm512_load_si512(words + i + j * kLane));
    }
  }
  for (int j = 1; j < kSums; ++j) {
    sums[0] = _mm512_add_epi64(sums[0], sums[j]);
  }
  alignas(64) std::uint64_t lanes[kLane];
  _mm512_store_si512(lanes, sums[0]);
  std::uint64_t sum = 0;  // Without std::accumulate: see tests/weak_symbols.sh.
  for (const std::uint64_t lane : lanes) {
    sum += lane;
  }
  return sum;
}

}  // namespace scorecast::bench
