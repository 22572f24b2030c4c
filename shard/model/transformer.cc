#include "shard/model/transformer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

using proto::ForwardPlan;
using proto::ModelConfig;
using proto::Range;

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

/// A tensor outside of the layers that every model has.
const TensorView& ModelTensor(const Checkpoint& checkpoint, const ModelConfig& config,
                              TensorRole role) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* tensor = FindTensor(tensors, role);
  proto::Check(tensor != nullptr, "a model has an embedding, a final norm and an lm-head");
  return Require(checkpoint, *tensor, config);
}

const TensorView& HeadWeight(const Checkpoint& checkpoint, const ModelConfig& config) {
  return Require(checkpoint, HeadTensor(checkpoint, config), config);
}

/// This rank's slice of the head's bias; empty if the model has none.
std::vector<float> LoadHeadBias(const ModelConfig& config, const Checkpoint& checkpoint,
                                Range outputs) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* bias = FindTensor(tensors, TensorRole::kLmHeadBias);
  if (bias == nullptr || !checkpoint.Has(bias->name)) {
    return {};
  }
  std::vector<float> slice(static_cast<std::size_t>(outputs.size()));
  ReadRows(Require(checkpoint, *bias, config), outputs, slice.data());
  return slice;
}

std::vector<Layer> LoadLayers(const ModelConfig& config, const Checkpoint& checkpoint,
                              const proto::Partition& partition, const Packing& packing,
                              const Transformer::Progress& progress) {
  CheckTensors(checkpoint, config);
  std::vector<Layer> layers;
  layers.reserve(config.layers.size());
  for (std::int64_t index = 0; index < config.num_hidden_layers(); ++index) {
    layers.push_back(LoadLayer(checkpoint, config, partition, index, packing));
    progress(index + 1, config.num_hidden_layers());
  }
  return layers;
}

std::vector<RopeTable> MakeRopeTables(const ModelConfig& config) {
  std::vector<RopeTable> tables;
  tables.reserve(config.rope_tables.size());
  for (const proto::RopeConfig& rope : config.rope_tables) {
    tables.emplace_back(rope, config.head_dim);
  }
  return tables;
}

/// Whether summands are rounded to bfloat16 for the exchange. They are rounded also between ranks
/// on one host, so that the bits do not depend on where the ranks are.
bool SummandsAreBf16(int ranks, Precision precision) {
  return ranks > 1 && precision != Precision::kFloat32;
}

/// Rows that one task of a row loop handles.
constexpr std::int64_t kRowsPerTask = 4;

}  // namespace

RowExchange Transformer::MakeExchange(const proto::Communicator& group, const ModelConfig& config,
                                      Precision precision, const proto::PlanLimits& limits,
                                      RowExchange::Transport transport) {
  const std::int64_t element =
      SummandsAreBf16(group.size(), precision) ? kFloatBytes / 2 : kFloatBytes;
  // A shared row has at most h floats and a scale.
  return {group, RoundUpRows(limits.max_rows),
          UsesSummands(config, group.size() == 1) ? config.hidden_size * element : 0,
          (config.hidden_size + 1) * kFloatBytes, transport};
}

Transformer::Transformer(const ModelConfig& config, const Checkpoint& checkpoint,
                         RowExchange& exchange, Arithmetic& arithmetic, const Kernels& kernels,
                         ThreadPool& pool, const proto::PlanLimits& limits,
                         const Progress& progress)
    : config_(config),
      limits_(limits),
      partition_(proto::MakePartition(config, exchange.rank(), exchange.ranks())),
      embedding_(ModelTensor(checkpoint, config, TensorRole::kEmbedding)),
      kernels_(kernels),
      pool_(pool),
      tiles_(pool.threads()),
      activate_(config.hidden_activation == proto::Activation::kGeluTanh ? kernels.geglu
                                                                         : kernels.swiglu),
      layers_(LoadLayers(config, checkpoint, partition_,
                         {arithmetic.layer_backend(), arithmetic.layers(), pool, tiles_},
                         progress)),
      final_norm_(LoadNorm(ModelTensor(checkpoint, config, TensorRole::kFinalNorm), config)),
      lm_head_(kernels, {arithmetic.lm_head_backend(), arithmetic.lm_head(), pool, tiles_},
               HeadWeight(checkpoint, config), partition_.vocabulary,
               config.final_logit_softcapping,
               LoadHeadBias(config, checkpoint, partition_.vocabulary)),
      rope_tables_(MakeRopeTables(config)),
      kv_store_(arithmetic.attention(), config.num_hidden_layers(), partition_.kv_heads.size(),
                config.head_dim, limits.kept_kv_rows, limits.pass_kv_rows),
      attention_(config, partition_, pool.threads()),
      work_(config, partition_, limits, arithmetic.layers(), pool.threads()),
      pass_buffers_(limits.max_rows),
      summands_are_bf16_(SummandsAreBf16(exchange.ranks(), arithmetic.layers())),
      exchange_(exchange) {
  files_read_ = {embedding_.file};
  if (const WeightFile* file = HeadWeight(checkpoint, config).file; file != embedding_.file) {
    files_read_.push_back(file);
  }
  normed_ = {arithmetic.layers(), config.hidden_size, exchange_.shared_rows(), nullptr};
  final_rows_ = {Precision::kFloat32, config.hidden_size, exchange_.shared_rows(), nullptr};
}

void Transformer::Touch() {
  const proto::PlanLimits limits = proto::TouchedLimits(limits_);
  work_.Touch(limits, pool_);
  exchange_.Touch(RoundUpRows(limits.max_rows), pool_);
  kv_store_.TouchPass(limits.pass_kv_rows, pool_);
  lm_head_.Touch(limits.max_reads);
  tiles_.Touch(pool_);
  attention_.Touch(pool_);
}

std::vector<std::byte> Transformer::Forward(const ForwardPlan& plan) {
  proto::CheckBuckets(plan, limits_);
  times_.Begin();
  LayOut(plan);
  const Pass pass(plan, exchange_, pass_buffers_);
  ExtendRopeTables(pass.position_limit());
  kv_store_.Copy(plan.copies, pool_);
  if (pass.all().size() > 0) {  // A plan may have copies only.
    Embed(pass);
    for (const Layer& layer : layers_) {
      ForwardLayer(pass, layer);
    }
  }
  std::vector<std::byte> partial_logits = ReadOut(pass);
  CheckWeights();
  return partial_logits;
}

void Transformer::CheckWeights() const {
  for (const WeightFile* file : files_read_) {
    file->CheckUnchanged();
  }
}

void Transformer::LayOut(const ForwardPlan& plan) {
  const proto::PlanLimits limits = proto::LimitsOfBuckets(limits_, plan.bucket, plan.read_bucket);
  work_.LayOut(limits);
  if (normed_.precision == Precision::kInt8) {
    // The scales lie behind the rows, which take up to h floats each: final_rows_ uses the same
    // memory.
    normed_.scales = reinterpret_cast<float*>(
        exchange_.shared_rows() + RoundUpRows(limits.max_rows) * config_.hidden_size * kFloatBytes);
  }
}

void Transformer::ExtendRopeTables(std::int64_t end) {
  for (RopeTable& table : rope_tables_) {
    table.Extend(end);
  }
}

void Transformer::ForwardLayer(const Pass& pass, const Layer& layer) {
  const bool is_last = layer.index + 1 == config_.num_hidden_layers();
  const PassRows& rows = is_last ? pass.read() : pass.all();
  ShareNormed(pass.all(), layer.input_norm, normed_);
  Project(pass, layer, rows);
  if (rows.size() == 0) {
    return;
  }
  Attend(pass, layer, rows);
  AddToResidual(rows, layer.output, work_.output_input, layer.output_bias,
                layer.post_attention_norm);
  ShareNormed(rows, layer.pre_feedforward_norm, normed_);
  FeedForward(layer, rows);
  AddToResidual(rows, layer.down, work_.down_input, layer.down_bias, layer.post_feedforward_norm);
}

void Transformer::Embed(const Pass& pass) {
  ForEachRow(exchange_.Own(pass.all().owners), [&](std::int64_t row, int) {
    const proto::TokenId id = pass.plan().tokens[static_cast<std::size_t>(row)];
    float* hidden = work_.hidden[row];
    ReadRows(embedding_, {id, id + 1}, hidden);
    if (config_.embedding_scale != 1) {
      const auto scale = static_cast<float>(config_.embedding_scale);
      std::transform(hidden, hidden + config_.hidden_size, hidden,
                     [scale](float x) { return scale * x; });
    }
  });
  times_.End(Phase::kOther);
  // ExchangeSummands and ShareRows must alternate, but the first layer's norm has no summands.
  exchange_.ExchangeSummands(exchange_.Even(0));
  times_.End(Phase::kCommunication);
}

void Transformer::ShareNormed(const PassRows& rows, const std::vector<float>& norm,
                              const Activations& to) {
  ForEachRow(exchange_.Own(rows.owners), [&](std::int64_t row, int thread) {
    float* normed = work_.thread_row[thread];
    kernels_.rms_norm(work_.hidden[rows.Origin(row)], norm.data(), config_.hidden_size,
                      static_cast<float>(config_.rms_norm_eps), normed);
    to.Set(kernels_, row, normed);
  });
  times_.End(Phase::kOther);
  const std::array<RowPlane, 2> planes = {
      {{to.data, to.row_bytes()},
       {reinterpret_cast<std::byte*>(to.scales), to.scales == nullptr ? 0 : kFloatBytes}}};
  exchange_.ShareRows(rows.owners, planes);
  times_.End(Phase::kCommunication);
}

void Transformer::Project(const Pass& pass, const Layer& layer, const PassRows& rows) {
  const auto store = [&](const PassRows& computed) {
    return [&](const ProductTile& tile) { StoreQkv(pass, layer, computed.map, tile); };
  };
  const PassRows& all = pass.all();
  if (&rows == &all) {
    layer.qkv.Forward(normed_, all.size(), pool_, store(all));
  } else {
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      work_.selected.CopyRow(row, normed_, rows.Origin(row));
    }
    const Range keys_and_values = {layer.query_chunks, layer.qkv.chunks()};
    layer.qkv.Forward(normed_, all.size(), keys_and_values, pool_, store(all));
    const Range queries = {0, layer.query_chunks};
    layer.qkv.Forward(work_.selected, rows.size(), queries, pool_, store(rows));
  }
  times_.End(Phase::kGemm);
}

void Transformer::StoreQkv(const Pass& pass, const Layer& layer, const RowMap& map,
                           const ProductTile& tile) {
  const RopeTable& rope = rope_tables_[layer.options.rope_table];
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
    const proto::PlanSegment& segment = pass.plan()
                                            .sequences[static_cast<std::size_t>(place.sequence)]
                                            .segments[static_cast<std::size_t>(place.segment)];
    if ((is_key || is_value) && place.row_in_segment < segment.stored) {
      continue;  // It is stored already, and another sequence may be reading or storing it.
    }
    for (std::int64_t column = tile.columns.begin; column < tile.columns.end;
         column += head_dim, heads += head_dim) {
      if (is_value) {
        kv_store_.WriteValue(
            kv_store_.At(layer.index, (column - first_value) / head_dim, segment.kv),
            place.row_in_segment, heads, place.row_in_segment + 1 == segment.compute_end);
        continue;
      }
      if (!norm.empty()) {
        kernels_.rms_norm(heads, norm.data(), head_dim, static_cast<float>(config_.rms_norm_eps),
                          heads);
      }
      kernels_.rope(rope.cosine(place.position), rope.sine(place.position), head_dim, heads);
      if (is_key) {
        kv_store_.WriteKey(kv_store_.At(layer.index, (column - first_key) / head_dim, segment.kv),
                           place.row_in_segment, heads);
      } else {
        std::copy_n(heads, head_dim, work_.queries[row] + column);
      }
    }
  }
}

void Transformer::Attend(const Pass& pass, const Layer& layer, const PassRows& rows) {
  attention_.Forward(pass.plan(), rows.map, layer.index, layer.options.sliding_window, kv_store_,
                     {work_.queries.data, work_.queries.stride}, work_.attended, pool_);
  times_.End(Phase::kAttention);
  Round(rows.size(), work_.attended, work_.output_input);
}

void Transformer::FeedForward(const Layer& layer, const PassRows& rows) {
  const bool is_rounded_at_once = work_.down_input.precision == Precision::kBfloat16;
  layer.gate_up.Forward(normed_, rows.size(), pool_, [&](const ProductTile& tile) {
    const Range all = {tile.columns.begin / 2, tile.columns.end / 2};
    for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
      float* gate = tile.Row(row);
      for (std::int64_t first = all.begin; first < all.end; first += kGateBlock) {
        const std::int64_t width = std::min(kGateBlock, all.end - first);
        float* up = gate + width;
        if (!layer.gate_bias.empty()) {
          kernels_.add(layer.gate_bias.data() + first, width, gate);
          kernels_.add(layer.up_bias.data() + first, width, up);
        }
        if (is_rounded_at_once) {
          activate_(gate, up, width, gate);
          kernels_.to_bf16(gate, width,
                           reinterpret_cast<std::uint16_t*>(work_.down_input.Row(row)) + first);
        } else {
          activate_(gate, up, width, work_.activated[row] + first);
        }
        gate = up + width;
      }
    }
  });
  times_.End(Phase::kGemm);
  if (!is_rounded_at_once) {
    Round(rows.size(), work_.activated, work_.down_input);
  }
}

void Transformer::AddToResidual(const PassRows& rows, const Linear& product,
                                const Activations& input, const std::vector<float>& bias,
                                const std::vector<float>& norm) {
  const std::int64_t h = config_.hidden_size;
  const bool has_norm = !norm.empty();
  const bool needs_exchange = exchange_.ranks() > 1;
  product.Forward(input, rows.size(), pool_, [&](const ProductTile& tile) {
    if (needs_exchange || has_norm) {
      StoreSummands(tile);
      return;
    }
    for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
      kernels_.add(tile.Row(row), tile.columns.size(),
                   work_.hidden[rows.Origin(row)] + tile.columns.begin);
    }
  });
  times_.End(Phase::kGemm);
  exchange_.ExchangeSummands(rows.owners);
  times_.End(Phase::kCommunication);
  const Range own = exchange_.Own(rows.owners);
  ForEachRow(own, [&](std::int64_t row, int thread) {
    float* hidden = work_.hidden[rows.Origin(row)];
    float* sum = hidden;
    if (has_norm) {
      sum = work_.thread_row[thread];
      std::fill_n(sum, h, 0.0F);
    }
    if (needs_exchange || has_norm) {
      SumOverRanks(row - own.begin, sum);
    }
    if (!bias.empty()) {
      kernels_.add(bias.data(), h, sum);
    }
    if (has_norm) {
      kernels_.rms_norm(sum, norm.data(), h, static_cast<float>(config_.rms_norm_eps), sum);
      kernels_.add(sum, h, hidden);
    }
  });
  times_.End(Phase::kOther);
}

void Transformer::StoreSummands(const ProductTile& tile) {
  for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
    const float* from = tile.Row(row);
    const std::int64_t at = row * config_.hidden_size + tile.columns.begin;
    if (summands_are_bf16_) {
      kernels_.to_bf16(from, tile.columns.size(),
                       reinterpret_cast<std::uint16_t*>(exchange_.summands()) + at);
    } else {
      std::copy_n(from, tile.columns.size(), reinterpret_cast<float*>(exchange_.summands()) + at);
    }
  }
}

void Transformer::SumOverRanks(std::int64_t own_row, float* sum) const {
  const std::int64_t h = config_.hidden_size;
  for (int rank = 0; rank < exchange_.ranks(); ++rank) {
    const std::byte* part = exchange_.part(rank);
    if (summands_are_bf16_) {
      kernels_.add_bf16(reinterpret_cast<const std::uint16_t*>(part) + own_row * h, h, sum);
    } else {
      kernels_.add(reinterpret_cast<const float*>(part) + own_row * h, h, sum);
    }
  }
}

std::vector<std::byte> Transformer::ReadOut(const Pass& pass) {
  if (pass.read().size() > 0) {
    ShareNormed(pass.read(), final_norm_, final_rows_);
  }
  std::vector<std::byte> partial_logits =
      lm_head_.ReadOut(pass.plan(), pass.read_index(),
                       {reinterpret_cast<const float*>(final_rows_.data), config_.hidden_size});
  times_.End(Phase::kGemm);
  return partial_logits;
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
