#include "shard/linear/int8_panel_weight.h"

#include <algorithm>
#include <string>

#include "proto/base/error.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {
namespace {

static_assert(kMostTileRows <= kMostInt8Rows);

std::int64_t RoundUp(std::int64_t n, std::int64_t granule) {
  return (n + granule - 1) / granule * granule;
}

}  // namespace

Int8PanelWeight::Int8PanelWeight(const Kernels& kernels, const WeightSource& source,
                                 ThreadPool& pool, std::vector<AlignedBuffer<float>>& scratch)
    : kernels_(kernels.int8_products),
      in_(source.in),
      padded_in_(RoundUp(source.in, kernels_.step)),
      scratch_(scratch) {
  if (in_ > kDeepestInt8) {
    throw proto::StartupError("--dtype int8: a weight has too many inputs: " + std::to_string(in_) +
                              " > " + std::to_string(kDeepestInt8));
  }
  std::int64_t outputs = 0;
  for (const std::int64_t width : source.widths) {
    chunks_.push_back({.width = width, .first_output = outputs});
    outputs += RoundUp(width, kernels_.panel);
  }
  scales_.resize(static_cast<std::size_t>(outputs));
  offsets_.resize(static_cast<std::size_t>(outputs));
  packed_ = AlignedBuffer<std::int8_t>(static_cast<std::size_t>(outputs * padded_in_));
  packed_.PreferHugePages();
  ReadChunks({&source, 1}, false, pool, [&](std::size_t, std::size_t index, PackScratch& packing) {
    const Chunk& chunk = chunks_[index];
    const Int8Chunk int8 = QuantizeChunk(kernels, packing.rows.data(), chunk.width, in_);
    kernels_.pack(int8.values.data(), chunk.width, in_,
                  packed_.data() + chunk.first_output * padded_in_);
    std::ranges::copy(int8.scales, scales_.begin() + chunk.first_output);
    std::ranges::copy(int8.offsets, offsets_.begin() + chunk.first_output);
  });
}

void Int8PanelWeight::Multiply(const Activations& x, std::int64_t first_row, std::int64_t rows,
                               std::int64_t index, proto::Range columns, float* y,
                               int thread) const {
  const Chunk& chunk = chunks_[static_cast<std::size_t>(index)];
  kernels_.multiply(
      {.x = reinterpret_cast<const std::uint8_t*>(x.Row(first_row)),
       .row_scales = x.scales + first_row,
       .rows = rows,
       .in = in_,
       .packed = packed_.data() + chunk.first_output * padded_in_,
       .scales = scales_.data() + chunk.first_output,
       .offsets = offsets_.data() + chunk.first_output,
       .width = chunk.width,
       .begin = columns.begin,
       .columns = columns.size(),
       .y = y,
       .scratch = reinterpret_cast<std::byte*>(scratch_[static_cast<std::size_t>(thread)].data())});
}

}  // namespace scorecast::shard
