#include "shard/transformer/transformer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/slices.h"

namespace scorecast::shard {
namespace {

using proto::ForwardPlan;
using proto::ModelConfig;
using proto::Range;

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

const TensorView& LmHeadWeight(const ModelConfig& config, const Checkpoint& checkpoint) {
  const std::vector<std::int64_t> shape = {config.vocab_size, config.hidden_size};
  return config.tie_word_embeddings ? checkpoint.Require("model.embed_tokens.weight", shape)
                                    : checkpoint.Require("lm_head.weight", shape);
}

std::vector<Layer> LoadLayers(const ModelConfig& config, const Checkpoint& checkpoint,
                              const proto::Partition& partition, const Packing& packing,
                              const Transformer::Progress& progress) {
  RefuseUnknownTensors(checkpoint, config);
  std::vector<Layer> layers;
  layers.reserve(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t index = 0; index < config.num_hidden_layers; ++index) {
    layers.push_back(LoadLayer(checkpoint, config, partition, index, packing));
    progress(index + 1, config.num_hidden_layers);
  }
  return layers;
}

std::vector<float> LoadVector(const TensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape[0]));
  ReadRows(tensor, {0, tensor.shape[0]}, values.data());
  return values;
}

/// Summands that go from rank to rank are rounded as the rest is, wherever the ranks are.
bool SummandsAreBf16(int ranks, Precision precision) {
  return ranks > 1 && precision != Precision::kFloat32;
}

/// Rows that one task of a row loop takes.
constexpr std::int64_t kRowsPerTask = 4;

}  // namespace

RowExchange Transformer::MakeExchange(const proto::Communicator& group, const ModelConfig& config,
                                      Precision precision, const proto::PlanLimits& limits,
                                      RowExchange::Transport transport) {
  // A shared row is h floats at most, and a scale.
  return {group, RoundUpRows(limits.max_rows),
          config.hidden_size * (SummandsAreBf16(group.size(), precision) ? kFloat / 2 : kFloat),
          (config.hidden_size + 1) * kFloat, transport};
}

Transformer::Transformer(const ModelConfig& config, const Checkpoint& checkpoint,
                         RowExchange& exchange, Arithmetic& arithmetic, const Kernels& kernels,
                         ThreadPool& pool, const proto::PlanLimits& limits,
                         const Progress& progress)
    : config_(config),
      limits_(limits),
      partition_(proto::MakePartition(config, exchange.rank(), exchange.ranks())),
      embedding_(
          checkpoint.Require("model.embed_tokens.weight", {config.vocab_size, config.hidden_size})),
      kernels_(kernels),
      pool_(pool),
      tiles_(pool.threads()),
      layers_(LoadLayers(config, checkpoint, partition_,
                         {arithmetic.layer_backend(), arithmetic.layers(), pool, tiles_},
                         progress)),
      final_norm_(LoadVector(checkpoint.Require("model.norm.weight", {config.hidden_size}))),
      lm_head_(kernels, {arithmetic.lm_head_backend(), arithmetic.lm_head(), pool, tiles_},
               LmHeadWeight(config, checkpoint), partition_.vocabulary),
      rope_(config.rope_theta, config.head_dim),
      kv_store_(arithmetic.attention(), config.num_hidden_layers, partition_.kv_heads.size(),
                config.head_dim, limits.kept_kv_rows, limits.pass_kv_rows),
      attention_(partition_.heads, partition_.kv_heads, config.num_query_groups(), config.head_dim,
                 pool.threads()),
      work_(config, partition_, limits, arithmetic.layers(), pool.threads()),
      summands_are_bf16_(SummandsAreBf16(exchange.ranks(), arithmetic.layers())),
      exchange_(exchange),
      all_rows_(limits.max_rows),
      read_rows_(limits.max_rows) {
  // From here on single rows of it are read, if any.
  checkpoint.Release(LmHeadWeight(config, checkpoint));
  normed_ = {arithmetic.layers(), config.hidden_size, exchange_.shared_rows(), nullptr};
  final_rows_ = {Precision::kFloat32, config.hidden_size, exchange_.shared_rows(), nullptr};
}

void Transformer::Touch(std::uint32_t bucket) {
  const proto::PlanLimits limits = proto::LimitsOfBucket(limits_, bucket);
  work_.Touch(limits.max_rows, pool_);
  exchange_.Touch(RoundUpRows(limits.max_rows), pool_);
  kv_store_.TouchPass(limits.pass_kv_rows, pool_);
  lm_head_.Touch(limits.max_reads);
  tiles_.Touch(pool_);
  attention_.Touch(pool_);
  rope_.Extend(limits.max_rows);
}

void Transformer::LayOut(std::uint32_t bucket) {
  const std::int64_t rows = proto::LimitsOfBucket(limits_, bucket).max_rows;
  work_.LayOut(rows);
  if (normed_.precision == Precision::kInt8) {
    // Behind the rows, which may take as much as floats.
    normed_.scales = reinterpret_cast<float*>(exchange_.shared_rows() +
                                              RoundUpRows(rows) * config_.hidden_size * kFloat);
  }
}

std::vector<std::byte> Transformer::Forward(const ForwardPlan& plan) {
  proto::CheckBuckets(plan, limits_);
  times_.Begin();
  LayOut(plan.bucket);
  FindRows(plan);
  kv_store_.Copy(plan.copies, pool_);
  const Scope all = {all_rows_, all_owners_, {}};
  const Scope read = {read_rows_, read_owners_, read_origin_};
  Embed(plan);
  const auto layers = static_cast<std::int64_t>(layers_.size());
  for (std::int64_t index = 0; index < layers; ++index) {
    const Layer& layer = layers_[static_cast<std::size_t>(index)];
    ShareNormed(all, layer.input_norm, normed_);
    const Scope& scope = index + 1 < layers ? all : read;
    Project(plan, index, scope);
    if (scope.rows() == 0) {
      break;
    }
    Attend(plan, index, scope);
    ShareNormed(scope, layer.post_attention_norm, normed_);
    FeedForward(layer, scope);
  }
  return Read(plan, read);
}

void Transformer::FindRows(const ForwardPlan& plan) {
  all_rows_.Assign(plan);
  read_origin_.clear();
  for (const proto::PlanRead& read : plan.reads) {
    read_origin_.push_back(read.row);
  }
  std::ranges::sort(read_origin_);
  read_origin_.erase(std::ranges::unique(read_origin_).begin(), read_origin_.end());
  read_rows_.Select(all_rows_, read_origin_);
  read_index_.clear();
  for (const proto::PlanRead& read : plan.reads) {
    read_index_.push_back(static_cast<std::int32_t>(
        std::ranges::lower_bound(read_origin_, read.row) - read_origin_.begin()));
  }
  all_owners_ = exchange_.Even(static_cast<std::int64_t>(plan.tokens.size()));
  // A row that is read stays with its owner.
  read_owners_.bounds.clear();
  for (const std::int64_t bound : all_owners_.bounds) {
    read_owners_.bounds.push_back(std::ranges::lower_bound(read_origin_, bound) -
                                  read_origin_.begin());
  }
  std::int32_t position_limit = 0;
  for (const RowPlace& place : all_rows_.rows()) {
    position_limit = std::max(position_limit, place.position + 1);
  }
  rope_.Extend(position_limit);
}

void Transformer::Embed(const ForwardPlan& plan) {
  ForEachRow(exchange_.Own(all_owners_), [&](std::int64_t row, int) {
    const proto::TokenId id = plan.tokens[static_cast<std::size_t>(row)];
    ReadRows(embedding_, {id, id + 1}, work_.hidden[row]);
  });
  times_.End(Phase::kOther);
  exchange_.ExchangeSummands(exchange_.Even(0));  // There are none.
  times_.End(Phase::kCommunication);
}

void Transformer::ShareNormed(const Scope& scope, const std::vector<float>& weight,
                              const Activations& to) {
  ForEachRow(exchange_.Own(scope.owners), [&](std::int64_t row, int thread) {
    float* normed = work_.thread_row[thread];
    kernels_.rms_norm(work_.hidden[scope.Origin(row)], weight.data(), config_.hidden_size,
                      static_cast<float>(config_.rms_norm_eps), normed);
    to.Set(kernels_, row, normed);
  });
  times_.End(Phase::kOther);
  const std::array<RowPlane, 2> planes = {
      {{to.data, to.row_bytes()},
       {reinterpret_cast<std::byte*>(to.scales), to.scales == nullptr ? 0 : kFloat}}};
  exchange_.ShareRows(scope.owners, planes);
  times_.End(Phase::kCommunication);
}

void Transformer::Project(const ForwardPlan& plan, std::int64_t index, const Scope& scope) {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t rows = static_cast<std::int64_t>(all_rows_.rows().size());
  const auto finish = [&](const RowMap& map) {
    return [&](const ProductTile& tile) { FinishQkv(plan, index, map, tile); };
  };
  if (index + 1 < static_cast<std::int64_t>(layers_.size())) {
    layer.qkv.Forward(normed_, rows, pool_, finish(all_rows_));
  } else {
    for (std::int64_t row = 0; row < scope.rows(); ++row) {
      work_.selected.CopyRow(row, normed_, scope.Origin(row));
    }
    layer.qkv.Forward(normed_, rows, {layer.query_chunks, layer.qkv.chunks()}, pool_,
                      finish(all_rows_));
    layer.qkv.Forward(work_.selected, scope.rows(), {0, layer.query_chunks}, pool_,
                      finish(read_rows_));
  }
  times_.End(Phase::kGemm);
}

void Transformer::FinishQkv(const ForwardPlan& plan, std::int64_t index, const RowMap& map,
                            const ProductTile& tile) {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t head_dim = config_.head_dim;
  const std::int64_t first_key = partition_.heads.size() * head_dim;
  const std::int64_t first_value = first_key + partition_.kv_heads.size() * head_dim;
  const bool is_value = tile.columns.begin >= first_value;
  const bool is_key = !is_value && tile.columns.begin >= first_key;
  const std::vector<float>& norm = is_key ? layer.key_norm : layer.query_norm;
  for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
    float* heads = tile.Row(row);
    if (!layer.qkv_bias.empty()) {
      kernels_.add(layer.qkv_bias.data() + tile.columns.begin, tile.columns.size(), heads);
    }
    const RowPlace& place = map.rows()[static_cast<std::size_t>(row)];
    const proto::PlanSegment& segment = plan.sequences[static_cast<std::size_t>(place.sequence)]
                                            .segments[static_cast<std::size_t>(place.segment)];
    if ((is_key || is_value) && place.row_in_segment < segment.stored) {
      continue;  // Another sequence may be storing it, or reading it.
    }
    for (std::int64_t column = tile.columns.begin; column < tile.columns.end;
         column += head_dim, heads += head_dim) {
      if (is_value) {
        kv_store_.WriteValue(kv_store_.At(index, (column - first_value) / head_dim, segment.kv),
                             place.row_in_segment, heads,
                             place.row_in_segment + 1 == segment.compute_end);
        continue;
      }
      if (!norm.empty()) {
        kernels_.rms_norm(heads, norm.data(), head_dim, static_cast<float>(config_.rms_norm_eps),
                          heads);
      }
      kernels_.rope(rope_.cosine(place.position), rope_.sine(place.position), head_dim, heads);
      if (is_key) {
        kv_store_.WriteKey(kv_store_.At(index, (column - first_key) / head_dim, segment.kv),
                           place.row_in_segment, heads);
      } else {
        std::copy_n(heads, head_dim, work_.queries[row] + column);
      }
    }
  }
}

void Transformer::Attend(const ForwardPlan& plan, std::int64_t index, const Scope& scope) {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  attention_.Forward(plan, scope.map, index, kv_store_, {work_.queries.data, work_.queries.stride},
                     work_.attended, pool_);
  times_.End(Phase::kAttention);
  Round(scope.rows(), work_.attended, work_.output_input);
  layer.output.Forward(work_.output_input, scope.rows(), pool_,
                       [&](const ProductTile& tile) { TakeSummands(scope, tile); });
  times_.End(Phase::kGemm);
  AddSummands(scope, layer.output_bias);
}

void Transformer::FeedForward(const Layer& layer, const Scope& scope) {
  const bool is_rounded_at_once = work_.down_input.precision == Precision::kBfloat16;
  layer.gate_up.Forward(normed_, scope.rows(), pool_, [&](const ProductTile& tile) {
    const std::int64_t width = tile.columns.size() / 2;
    const std::int64_t first = tile.columns.begin / 2;
    for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
      float* gate = tile.Row(row);
      float* up = gate + width;
      if (!layer.gate_bias.empty()) {
        kernels_.add(layer.gate_bias.data() + first, width, gate);
        kernels_.add(layer.up_bias.data() + first, width, up);
      }
      if (is_rounded_at_once) {
        kernels_.swiglu(gate, up, width, gate);
        kernels_.to_bf16(gate, width,
                         reinterpret_cast<std::uint16_t*>(work_.down_input.Row(row)) + first);
      } else {
        kernels_.swiglu(gate, up, width, work_.activated[row] + first);
      }
    }
  });
  times_.End(Phase::kGemm);
  if (!is_rounded_at_once) {
    Round(scope.rows(), work_.activated, work_.down_input);
  }
  layer.down.Forward(work_.down_input, scope.rows(), pool_,
                     [&](const ProductTile& tile) { TakeSummands(scope, tile); });
  times_.End(Phase::kGemm);
  AddSummands(scope, layer.down_bias);
}

std::vector<std::byte> Transformer::Read(const ForwardPlan& plan, const Scope& scope) {
  if (scope.rows() > 0) {
    ShareNormed(scope, final_norm_, final_rows_);
  }
  std::vector<std::byte> answer = lm_head_.Answer(
      plan, read_index_, {reinterpret_cast<const float*>(final_rows_.data), config_.hidden_size});
  times_.End(Phase::kGemm);
  return answer;
}

void Transformer::TakeSummands(const Scope& scope, const ProductTile& tile) {
  for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
    const float* from = tile.Row(row);
    const std::int64_t at = row * config_.hidden_size + tile.columns.begin;
    if (exchange_.ranks() == 1) {
      kernels_.add(from, tile.columns.size(), work_.hidden[scope.Origin(row)] + tile.columns.begin);
    } else if (summands_are_bf16_) {
      kernels_.to_bf16(from, tile.columns.size(),
                       reinterpret_cast<std::uint16_t*>(exchange_.summands()) + at);
    } else {
      std::copy_n(from, tile.columns.size(), reinterpret_cast<float*>(exchange_.summands()) + at);
    }
  }
}

void Transformer::AddSummands(const Scope& scope, const std::vector<float>& bias) {
  exchange_.ExchangeSummands(scope.owners);
  times_.End(Phase::kCommunication);
  const Range own = exchange_.Own(scope.owners);
  const std::int64_t h = config_.hidden_size;
  ForEachRow(own, [&](std::int64_t row, int) {
    float* hidden = work_.hidden[scope.Origin(row)];
    const std::int64_t at = (row - own.begin) * h;
    const int others = exchange_.ranks() == 1 ? 0 : exchange_.ranks();
    for (int rank = 0; rank < others; ++rank) {
      const std::byte* part = exchange_.part(rank);
      if (summands_are_bf16_) {
        kernels_.add_bf16(reinterpret_cast<const std::uint16_t*>(part) + at, h, hidden);
      } else {
        kernels_.add(reinterpret_cast<const float*>(part) + at, h, hidden);
      }
    }
    if (!bias.empty()) {
      kernels_.add(bias.data(), h, hidden);
    }
  });
  times_.End(Phase::kOther);
}

void Transformer::Round(std::int64_t rows, Rows<float> from, const Activations& to) {
  if (to.precision != Precision::kFloat32) {
    ForEachRow({0, rows}, [&](std::int64_t row, int) { to.Set(kernels_, row, from[row]); });
  }
  times_.End(Phase::kOther);
}

template <typename Body>
void Transformer::ForEachRow(Range rows, Body body) {
  pool_.ParallelFor((rows.size() + kRowsPerTask - 1) / kRowsPerTask,
                    [&](std::int64_t task, int thread) {
                      const std::int64_t begin = rows.begin + task * kRowsPerTask;
                      const std::int64_t end = std::min(rows.end, begin + kRowsPerTask);
                      for (std::int64_t row = begin; row < end; ++row) {
                        body(row, thread);
                      }
                    });
}

}  // namespace scorecast::shard
