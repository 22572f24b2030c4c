#include "shard/linear/gemm_backend.h"

#include <algorithm>

namespace scorecast::shard {

PackScratch::PackScratch(const WeightSource& source, bool narrows) {
  const std::int64_t widest = *std::ranges::max_element(source.widths);
  const auto size = static_cast<std::size_t>(widest * source.in);
  rows = AlignedBuffer<float>(size);
  narrow = AlignedBuffer<std::uint16_t>(narrows ? size : 0);
}

}  // namespace scorecast::shard
