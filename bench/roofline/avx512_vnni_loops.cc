#include <immintrin.h>

#include "bench/roofline/x86_loops.h"

namespace scorecast::bench {

void Avx512DotInt8(std::int64_t iterations) {
  const __m512i a = _mm512_set1_epi8(3);
  const __m512i b = _mm512_set1_epi8(-5);
  RunChains(iterations, _mm512_setzero_si512(),
            [&](__m512i sum) { return _mm512_dpbusd_epi32(sum, a, b); });
}

}  // namespace scorecast::bench
