#include "shard/linear/bf16_block_weight.h"

#include <algorithm>
#include <vector>

#include "shard/kernels/amx_blocks.h"

namespace scorecast::shard {
namespace {

static_assert(kRowGranule == kAmxRows);
/// Inputs of one output that lie side by side.
constexpr std::int64_t kStep = kAmxStep / std::int64_t{sizeof(std::uint16_t)};

/// Packs a panel: some rows of a chunk, dense [outputs][in].
void PackPanel(const std::uint16_t* rows, std::int64_t outputs, std::int64_t in,
               std::uint16_t* packed) {
  for (std::int64_t output = 0; output < kAmxPanel; ++output) {
    for (std::int64_t i = 0; i < in; ++i) {
      packed[(i / kStep * kAmxPanel + output) * kStep + i % kStep] =
          output < outputs ? rows[output * in + i] : std::uint16_t{0};
    }
  }
}

}  // namespace

bool Bf16BlockWeight::Supports(std::span<const WeightSource> blocks,
                               std::span<const BlockStep> steps) {
  return BlockLayout::Supports(steps) &&
         std::ranges::all_of(blocks, [](const auto& block) { return block.in % kStep == 0; });
}

Bf16BlockWeight::Bf16BlockWeight(const Kernels& kernels, std::span<const WeightSource> blocks,
                                 std::span<const BlockStep> steps, ThreadPool& pool)
    : layout_(blocks, steps, kAmxPanel) {
  packed_ = AlignedBuffer<std::uint16_t>(static_cast<std::size_t>(layout_.outputs * layout_.in));
  packed_.PreferHugePages();
  ReadChunks(blocks, true, pool, [&](std::size_t block, std::size_t index, PackScratch& scratch) {
    const BlockLayout::Chunk& chunk = layout_.chunks[index];
    const std::int64_t in = blocks[block].in;
    kernels.to_bf16(scratch.rows.data(), chunk.width * in, scratch.narrow.data());
    for (std::int64_t panel = 0; panel < chunk.width; panel += kAmxPanel) {
      PackPanel(scratch.narrow.data() + panel * in, std::min(kAmxPanel, chunk.width - panel), in,
                packed_.data() + layout_.Offset(chunk.first_output + panel, layout_.blocks[block]));
    }
  });
}

void Bf16BlockWeight::Multiply(const BlockActivations& x, std::int64_t first_row, std::int64_t rows,
                               std::int64_t index, proto::Range columns, float* y) const {
  const std::int64_t first_output =
      layout_.chunks[static_cast<std::size_t>(index)].first_output + columns.begin;
  std::vector<Bf16Block> blocks;
  for (const BlockLayout::Block& block : layout_.blocks) {
    const Activations of_block = x.Block(static_cast<std::int64_t>(blocks.size()));
    blocks.push_back({.x = reinterpret_cast<const std::uint16_t*>(of_block.Row(first_row)),
                      .in = block.in,
                      .packed = packed_.data() + layout_.Offset(first_output, block),
                      .joins = block.step.joins,
                      .is_result = block.step.is_result});
  }
  kMultiplyBf16BlocksWithAmx(
      {.blocks = blocks.data(),
       .count = static_cast<std::int64_t>(blocks.size()),
       .panel_bytes = layout_.in * layout_.panel * std::int64_t{sizeof(std::uint16_t)},
       .rows = RoundUpRows(rows),
       .columns = columns.size(),
       .y = y,
       .result_size = RoundUpRows(rows) * columns.size()});
}

}  // namespace scorecast::shard
