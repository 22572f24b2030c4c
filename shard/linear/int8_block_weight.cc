#include "shard/linear/int8_block_weight.h"

#include <algorithm>

#include "proto/base/check.h"
#include "shard/kernels/amx_blocks.h"

namespace scorecast::shard {
static_assert(kMostTileRows <= kMostInt8Rows);

bool Int8BlockWeight::Supports(const Kernels& kernels, std::span<const WeightSource> blocks,
                               std::span<const BlockStep> steps) {
  if (kernels.int8_products.multiply_blocks == nullptr || !BlockLayout::Supports(steps)) {
    return false;
  }
  return std::ranges::all_of(blocks, [&](const WeightSource& block) {
    return block.in % kernels.int8_products.step == 0 && block.in <= kDeepestInt8;
  });
}

Int8BlockWeight::Int8BlockWeight(const Kernels& kernels, bool uses_amx,
                                 std::span<const WeightSource> blocks,
                                 std::span<const BlockStep> steps, ThreadPool& pool)
    : kernels_(kernels.int8_products), uses_amx_(uses_amx), layout_(blocks, steps, kernels_.panel) {
  proto::Check(!uses_amx || (kernels_.panel == kAmxPanel && kernels_.step == kAmxStep),
               "AMX has the layout of the kernels");
  const std::size_t scales = blocks.size() * static_cast<std::size_t>(layout_.outputs);
  scales_.resize(scales);
  offsets_.resize(scales);
  packed_ = AlignedBuffer<std::int8_t>(static_cast<std::size_t>(layout_.outputs * layout_.in));
  packed_.PreferHugePages();
  ReadChunks(blocks, false, pool, [&](std::size_t block, std::size_t chunk, PackScratch& scratch) {
    PackChunk(kernels, block, chunk, scratch.rows.data());
  });
}

void Int8BlockWeight::PackChunk(const Kernels& kernels, std::size_t block, std::size_t index,
                                float* rows) {
  const BlockLayout::Chunk& chunk = layout_.chunks[index];
  const std::int64_t in = layout_.blocks[block].in;
  const Int8Chunk int8 = QuantizeChunk(kernels, rows, chunk.width, in);
  for (std::int64_t panel = 0; panel < chunk.width; panel += kernels_.panel) {
    kernels_.pack(
        int8.values.data() + panel * in, std::min(kernels_.panel, chunk.width - panel), in,
        packed_.data() + layout_.Offset(chunk.first_output + panel, layout_.blocks[block]));
  }
  const std::int64_t first =
      static_cast<std::int64_t>(block) * layout_.outputs + chunk.first_output;
  std::ranges::copy(int8.scales, scales_.begin() + first);
  std::ranges::copy(int8.offsets, offsets_.begin() + first);
}

void Int8BlockWeight::Multiply(const BlockActivations& x, std::int64_t first_row, std::int64_t rows,
                               std::int64_t index, proto::Range columns, float* y) const {
  const std::int64_t first_output =
      layout_.chunks[static_cast<std::size_t>(index)].first_output + columns.begin;
  std::vector<Int8Block> blocks;
  for (std::size_t block = 0; block < layout_.blocks.size(); ++block) {
    const BlockLayout::Block& own = layout_.blocks[block];
    const Activations of_block = x.Block(static_cast<std::int64_t>(block));
    const std::int64_t scales = static_cast<std::int64_t>(block) * layout_.outputs + first_output;
    blocks.push_back({.x = reinterpret_cast<const std::uint8_t*>(of_block.Row(first_row)),
                      .row_scales = of_block.scales + first_row,
                      .in = own.in,
                      .packed = packed_.data() + layout_.Offset(first_output, own),
                      .scales = scales_.data() + scales,
                      .offsets = offsets_.data() + scales,
                      .joins = own.step.joins,
                      .is_result = own.step.is_result});
  }
  const auto multiply =
      uses_amx_ && rows >= kAmxRows ? kMultiplyInt8BlocksWithAmx : kernels_.multiply_blocks;
  multiply({.blocks = blocks.data(),
            .count = static_cast<std::int64_t>(blocks.size()),
            .panel_bytes = layout_.in * layout_.panel,
            .rows = rows,
            .columns = columns.size(),
            .y = y,
            .result_size = RoundUpRows(rows) * columns.size()});
}

}  // namespace scorecast::shard
