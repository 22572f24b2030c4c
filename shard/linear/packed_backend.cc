#include "shard/linear/packed_backend.h"

#include <numeric>

#include "shard/linear/int8_block_weight.h"
#include "shard/linear/int8_panel_weight.h"

namespace scorecast::shard {

PackedBackend::PackedBackend(const Kernels& kernels, int threads) : kernels_(kernels) {
  static_assert(kInt8Scratch <= kProductScratch * std::int64_t{sizeof(float)});
  for (int thread = 0; thread < threads; ++thread) {
    scratch_.emplace_back(static_cast<std::size_t>(kProductScratch));
  }
}

std::unique_ptr<PackedWeight> PackedBackend::Pack(Precision precision, const WeightSource& source,
                                                  ThreadPool& pool) {
  if (precision == Precision::kInt8) {
    return std::make_unique<Int8PanelWeight>(kernels_, source, pool, scratch_);
  }
  return std::make_unique<PanelWeight>(kernels_, precision, source, pool, scratch_);
}

std::unique_ptr<PackedBlocks> PackedBackend::PackBlocks(Precision precision,
                                                        std::span<const WeightSource> blocks,
                                                        std::span<const BlockStep> steps,
                                                        ThreadPool& pool) {
  if (precision != Precision::kInt8 || !Int8BlockWeight::Supports(kernels_, blocks, steps)) {
    return nullptr;
  }
  return std::make_unique<Int8BlockWeight>(kernels_, /*uses_amx=*/false, blocks, steps, pool);
}

std::string PackedBackend::Description(Precision precision) const {
  const std::int64_t outputs =
      precision == Precision::kInt8 ? kernels_.int8_products.panel : kPanelOutputs;
  return "in panels of " + std::to_string(outputs);
}

std::vector<std::int64_t> PackedBackend::Heights(Precision /*precision*/) const {
  std::vector<std::int64_t> heights(kMostTileRows);
  std::iota(heights.begin(), heights.end(), 1);
  return heights;
}

}  // namespace scorecast::shard
