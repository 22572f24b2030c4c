#include "shard/linear/packed_backend.h"

#include <numeric>

namespace scorecast::shard {

PackedBackend::PackedBackend(const Kernels& kernels, int threads) : kernels_(kernels) {
  for (int thread = 0; thread < threads; ++thread) {
    scratch_.emplace_back(static_cast<std::size_t>(kProductScratch));
  }
}

std::unique_ptr<PackedWeight> PackedBackend::Pack(Precision precision, const WeightSource& source,
                                                  ThreadPool& pool) {
  return std::make_unique<PanelWeight>(kernels_, precision, source, pool, scratch_);
}

std::string PackedBackend::Description(Precision /*precision*/) const {
  return "in panels of " + std::to_string(kPanelOutputs);
}

std::vector<std::int64_t> PackedBackend::Heights(Precision /*precision*/) const {
  std::vector<std::int64_t> heights(kMostTileRows);
  std::iota(heights.begin(), heights.end(), 1);
  return heights;
}

}  // namespace scorecast::shard
