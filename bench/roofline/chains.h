#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "bench/roofline/x86_loops.h"

namespace scorecast::bench {

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
