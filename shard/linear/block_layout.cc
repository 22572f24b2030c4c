#include "shard/linear/block_layout.h"

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

}  // namespace scorecast::shard
