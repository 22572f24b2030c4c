#include <immintrin.h>

#include "bench/roofline/chains.h"

namespace scorecast::bench {

void Avx2Fma(std::int64_t iterations) {
  const __m256 a = _mm256_set1_ps(0.5F);
  const __m256 b = _mm256_set1_ps(0.25F);
  RunChains(iterations, _mm256_setzero_ps(),
            [&](__m256 sum) { return _mm256_fmadd_ps(a, b, sum); });
}

}  // namespace scorecast::bench
