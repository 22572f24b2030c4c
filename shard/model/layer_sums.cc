// The sums of a layer: its output and down products, added up over the ranks, and added to the
// residual streams.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "shard/model/transformer.h"

namespace scorecast::shard {

using proto::Range;

Transformer::Sum Transformer::OutputSum(const Layer& layer, const PassRows& rows) const {
  return {rows,
          layer.output,
          work_.output_input,
          kHeadTree,
          layer.output_bias,
          layer.post_attention_norm,
          layer.attention_residual_norm};
}

Transformer::Sum Transformer::DownSum(const Layer& layer, const PassRows& rows) const {
  return {rows,
          layer.down,
          work_.down_input,
          intermediate_tree_,
          layer.down_bias,
          layer.post_feedforward_norm,
          layer.feedforward_residual_norm};
}

bool Transformer::HasSummands(const Sum& sum) const {
  return exchange_.ranks() > 1 || !sum.norm.empty();
}

void Transformer::BeginSum(const Sum& sum) {
  const PassRows& rows = sum.rows;
  const bool has_summands = HasSummands(sum);
  sum.product.ForwardBlocks(sum.input, rows.size(), pool_, [&](const ProductTile& tile, int node) {
    if (has_summands) {
      StoreSummands(rows.first(), tile, node);
      return;
    }
    for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
      kernels_.add(tile.Row(row), tile.columns.size(),
                   work_.hidden[rows.Origin(rows.first() + row)] + tile.columns.begin);
    }
  });
  times_.End(Phase::kGemm);
  exchange_.BeginExchange(rows.owners, summand_type_, sum.tree);
  times_.End(Phase::kCommunication);
}

void Transformer::EndSum(const Sum& sum) {
  exchange_.EndExchange();
  times_.End(Phase::kCommunication);
  const std::int64_t h = config_.hidden_size;
  const bool has_norm = !sum.norm.empty();
  const bool has_summands = HasSummands(sum);
  const Range own = exchange_.Own(sum.rows.owners);
  ForEachRow(own, [&](std::int64_t row, int thread) {
    float* hidden = work_.hidden[sum.rows.Origin(row)];
    float* to = hidden;
    if (has_norm) {
      to = work_.thread_row[thread];
      std::fill_n(to, h, 0.0F);
    }
    if (has_summands) {
      exchange_.AddSummands(row - own.begin, {to, static_cast<std::size_t>(h)});
    }
    if (!sum.bias.empty()) {
      kernels_.add(sum.bias.data(), h, to);
    }
    if (has_norm) {
      row_norm_(to, sum.norm, to);
      kernels_.add(to, h, hidden);
    }
    if (!sum.residual_norm.empty()) {
      row_norm_(hidden, sum.residual_norm, hidden);
    }
  });
  times_.End(Phase::kOther);
}

void Transformer::StoreSummands(std::int64_t first, const ProductTile& tile, int node) {
  for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
    const float* from = tile.Row(row);
    const std::int64_t at =
        ((first + row) * exchange_.most_nodes() + node) * config_.hidden_size + tile.columns.begin;
    if (summand_type_ == SummandType::kBfloat16) {
      kernels_.to_bf16(from, tile.columns.size(),
                       reinterpret_cast<std::uint16_t*>(exchange_.summands()) + at);
    } else {
      std::copy_n(from, tile.columns.size(), reinterpret_cast<float*>(exchange_.summands()) + at);
    }
  }
}

}  // namespace scorecast::shard
