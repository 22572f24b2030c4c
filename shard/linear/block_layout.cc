#include "shard/linear/block_layout.h"

#include <algorithm>

#include "shard/kernels/int8_product_kernels.h"

namespace scorecast::shard {

bool BlockLayout::Supports(std::span<const BlockStep> steps) {
  std::int64_t waiting = 0;
  for (const BlockStep& step : steps) {
    waiting = step.is_result ? 0 : waiting + 1 - step.joins;
    if (waiting > kMostWaitingBlocks) {
      return false;
    }
  }
  return true;
}

BlockLayout::BlockLayout(std::span<const WeightSource> sources, std::span<const BlockStep> steps,
                         std::int64_t panel_outputs)
    : panel(panel_outputs) {
  for (std::size_t block = 0; block < sources.size(); ++block) {
    blocks.push_back({.in = sources[block].in, .before = in, .step = steps[block]});
    in += sources[block].in;
  }
  for (const std::int64_t width : sources.front().widths) {
    chunks.push_back({.width = width, .first_output = outputs});
    outputs += (width + panel - 1) / panel * panel;
  }
}

void BlockLayout::ForEachChunk(
    std::span<const WeightSource> sources, bool narrows, ThreadPool& pool,
    const std::function<void(std::size_t block, std::size_t chunk, PackScratch& scratch)>& pack)
    const {
  const WeightSource& deepest = *std::ranges::max_element(sources, {}, &WeightSource::in);
  std::vector<PackScratch> scratch;
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch.emplace_back(deepest, narrows);
  }
  const auto of_block = static_cast<std::int64_t>(chunks.size());
  const auto tasks = static_cast<std::int64_t>(sources.size()) * of_block;
  pool.ParallelFor(tasks, [&](std::int64_t task, int thread) {
    const auto block = static_cast<std::size_t>(task / of_block);
    PackScratch& own = scratch[static_cast<std::size_t>(thread)];
    sources[block].read(task % of_block, own.rows.data());
    pack(block, static_cast<std::size_t>(task % of_block), own);
  });
}

}  // namespace scorecast::shard
