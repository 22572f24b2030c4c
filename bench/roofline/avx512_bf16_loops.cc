#include <immintrin.h>

#include "bench/roofline/x86_loops.h"

namespace scorecast::bench {

void Avx512DotBf16(std::int64_t iterations) {
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5F), _mm512_set1_ps(0.5F));
  const __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.25F), _mm512_set1_ps(0.25F));
  RunChains(iterations, _mm512_setzero_ps(),
            [&](__m512 sum) { return _mm512_dpbf16_ps(sum, a, b); });
}

}  // namespace scorecast::bench
