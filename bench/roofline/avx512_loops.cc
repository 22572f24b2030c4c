#include <immintrin.h>

#include "bench/roofline/chains.h"

namespace scorecast::bench {

void Avx512Fma(std::int64_t iterations) {
  const __m512 a = _mm512_set1_ps(0.5F);
  const __m512 b = _mm512_set1_ps(0.25F);
  RunChains(iterations, _mm512_setzero_ps(),
            [&](__m512 sum) { return _mm512_fmadd_ps(a, b, sum); });
}

}  // namespace scorecast::bench
