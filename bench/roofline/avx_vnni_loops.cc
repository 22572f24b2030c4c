#include <immintrin.h>

#include "bench/roofline/x86_loops.h"

namespace scorecast::bench {

void AvxVnniDotInt8(std::int64_t iterations) {
  const __m256i a = _mm256_set1_epi8(3);
  const __m256i b = _mm256_set1_epi8(-5);
  RunChains(iterations, _mm256_setzero_si256(),
            [&](__m256i sum) { return _mm256_dpbusd_avx_epi32(sum, a, b); });
}

}  // namespace scorecast::bench
