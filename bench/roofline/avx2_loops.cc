#include <immintrin.h>

#include "bench/roofline/x86_loops.h"

namespace scorecast::bench {

void Avx2Fma(std::int64_t iterations) {
  const __m256 a = _mm256_set1_ps(0.5F);
  const __m256 b = _mm256_set1_ps(0.25F);
  RunChains(iterations, _mm256_setzero_ps(),
            [&](__m256 sum) { return _mm256_fmadd_ps(a, b, sum); });
}

void Avx2DotInt16(std::int64_t iterations) {
  const __m256i a = _mm256_set1_epi16(300);
  const __m256i b = _mm256_set1_epi16(-5);
  RunChains(iterations, _mm256_setzero_si256(), [&](__m256i sum) {
    __m256i product;
    // The intrinsic's result does not change, so the compiler would compute it once.
    __asm__ volatile("vpmaddwd %1, %2, %0" : "=x"(product) : "x"(a), "x"(b));
    return _mm256_add_epi32(sum, product);
  });
}

}  // namespace scorecast::bench
