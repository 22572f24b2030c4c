#include "shard/linear/int8_block_weight.h"

#include <algorithm>

#include "proto/base/check.h"
#include "shard/kernels/amx_blocks.h"

namespace scorecast::shard {
static_assert(kMostTileRows <= kMostInt8Rows);

bool Int8BlockWeight::Supports(const Kernels& kernels, std::span<const WeightSource> blocks,
                               std::span<const BlockStep> steps) {
  if (kernels.int8_products.multiply_blocks == nullptr) {
    return false;
  }
  std::int64_t waiting = 0;
  for (const BlockStep& step : steps) {
    waiting = step.is_result ? 0 : waiting + 1 - step.joins;
    if (waiting > kMostWaitingBlocks) {
      return false;
    }
  }
  return std::ranges::all_of(blocks, [&](const WeightSource& block) {
    return block.in % kernels.int8_products.step == 0 && block.in <= kDeepestInt8;
  });
}

Int8BlockWeight::Int8BlockWeight(const Kernels& kernels, bool uses_amx,
                                 std::span<const WeightSource> blocks,
                                 std::span<const BlockStep> steps, ThreadPool& pool)
    : kernels_(kernels.int8_products), uses_amx_(uses_amx) {
  proto::Check(!uses_amx || (kernels_.panel == kAmxPanel && kernels_.step == kAmxStep),
               "AMX has the layout of the kernels");
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    blocks_.push_back({.in = blocks[block].in, .before = in_, .step = steps[block]});
    in_ += blocks[block].in;
  }
  for (const std::int64_t width : blocks.front().widths) {
    chunks_.push_back({.width = width, .first_output = outputs_});
    outputs_ += (width + kernels_.panel - 1) / kernels_.panel * kernels_.panel;
  }
  const std::size_t scales = blocks.size() * static_cast<std::size_t>(outputs_);
  scales_.resize(scales);
  offsets_.resize(scales);
  packed_ = AlignedBuffer<std::int8_t>(static_cast<std::size_t>(outputs_ * in_));
  packed_.PreferHugePages();
  const WeightSource& deepest = *std::ranges::max_element(blocks, {}, &WeightSource::in);
  std::vector<PackScratch> packing;
  for (int thread = 0; thread < pool.threads(); ++thread) {
    packing.emplace_back(deepest, false);
  }
  const auto chunks = static_cast<std::int64_t>(chunks_.size());
  const auto all = static_cast<std::int64_t>(blocks.size()) * chunks;
  pool.ParallelFor(all, [&](std::int64_t task, int thread) {
    const auto block = static_cast<std::size_t>(task / chunks);
    PackChunk(kernels, blocks[block], block, task % chunks,
              packing[static_cast<std::size_t>(thread)].rows.data());
  });
}

void Int8BlockWeight::PackChunk(const Kernels& kernels, const WeightSource& source,
                                std::size_t block, std::int64_t index, float* rows) {
  const Chunk& chunk = chunks_[static_cast<std::size_t>(index)];
  source.read(index, rows);
  const Int8Chunk int8 = QuantizeChunk(kernels, rows, chunk.width, source.in);
  for (std::int64_t panel = 0; panel < chunk.width; panel += kernels_.panel) {
    kernels_.pack(int8.values.data() + panel * source.in,
                  std::min(kernels_.panel, chunk.width - panel), source.in,
                  packed_.data() + (chunk.first_output + panel) * in_ +
                      blocks_[block].before * kernels_.panel);
  }
  const std::int64_t first = static_cast<std::int64_t>(block) * outputs_ + chunk.first_output;
  std::ranges::copy(int8.scales, scales_.begin() + first);
  std::ranges::copy(int8.offsets, offsets_.begin() + first);
}

void Int8BlockWeight::Multiply(const BlockActivations& x, std::int64_t first_row, std::int64_t rows,
                               std::int64_t index, proto::Range columns, float* y) const {
  const std::int64_t first_output =
      chunks_[static_cast<std::size_t>(index)].first_output + columns.begin;
  std::vector<Int8Block> blocks;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const Block& own = blocks_[block];
    const Activations of_block = x.Block(static_cast<std::int64_t>(block));
    const std::int64_t scales = static_cast<std::int64_t>(block) * outputs_ + first_output;
    blocks.push_back({.x = reinterpret_cast<const std::uint8_t*>(of_block.Row(first_row)),
                      .row_scales = of_block.scales + first_row,
                      .in = own.in,
                      .packed = packed_.data() + first_output * in_ + own.before * kernels_.panel,
                      .scales = scales_.data() + scales,
                      .offsets = offsets_.data() + scales,
                      .joins = own.step.joins,
                      .is_result = own.step.is_result});
  }
  const auto multiply =
      uses_amx_ && rows >= kAmxRows ? kMultiplyBlocksWithAmx : kernels_.multiply_blocks;
  multiply({.blocks = blocks.data(),
            .count = static_cast<std::int64_t>(blocks.size()),
            .panel_bytes = in_ * kernels_.panel,
            .rows = rows,
            .columns = columns.size(),
            .y = y,
            .result_size = RoundUpRows(rows) * columns.size()});
}

}  // namespace scorecast::shard
