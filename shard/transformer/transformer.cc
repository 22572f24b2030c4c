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

const TensorView& LmHeadWeight(const ModelConfig& config, const Checkpoint& checkpoint) {
  const std::vector<std::int64_t> shape = {config.vocab_size, config.hidden_size};
  return config.tie_word_embeddings ? checkpoint.Require("model.embed_tokens.weight", shape)
                                    : checkpoint.Require("lm_head.weight", shape);
}

std::vector<Layer> LoadLayers(const ModelConfig& config, const Checkpoint& checkpoint,
                              const proto::Partition& partition, GemmBackend& backend) {
  RefuseUnknownTensors(checkpoint, config);
  std::vector<Layer> layers;
  layers.reserve(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t index = 0; index < config.num_hidden_layers; ++index) {
    layers.push_back(LoadLayer(checkpoint, config, partition, index, backend));
  }
  return layers;
}

std::vector<float> LoadVector(const TensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape[0]));
  ReadRows(tensor, {0, tensor.shape[0]}, values.data());
  return values;
}

/// The widths of a Workspace's members, in their order.
struct Widths {
  std::array<std::int64_t, 6> of_rows;
  std::int64_t of_reads;
};

Widths WorkspaceWidths(const ModelConfig& config, const proto::Partition& partition) {
  const std::int64_t h = config.hidden_size;
  const std::int64_t q = partition.heads.size() * config.head_dim;
  const std::int64_t kv = partition.kv_heads.size() * config.head_dim;
  return {{h, h, q + 2 * kv, q, h, 2 * partition.intermediate.size()}, h};
}

std::int64_t WorkspaceFloats(const Widths& widths, const proto::PlanLimits& limits) {
  std::int64_t floats = RoundUpRows(limits.max_reads) * widths.of_reads;
  for (const std::int64_t width : widths.of_rows) {
    floats += RoundUpRows(limits.max_rows) * width;
  }
  return floats;
}

/// Rows that one task of a row loop takes.
constexpr std::int64_t kRowsPerTask = 4;

}  // namespace

Workspace::Workspace(const ModelConfig& config, const proto::Partition& partition,
                     const proto::PlanLimits& limits) {
  const Widths widths = WorkspaceWidths(config, partition);
  buffer_ = AlignedBuffer<float>(static_cast<std::size_t>(WorkspaceFloats(widths, limits)));
  float* next = buffer_.data();
  std::size_t at = 0;
  for (Rows<float>* rows : {&hidden, &normed, &qkv, &attention, &summand, &gate_up}) {
    *rows = {next, widths.of_rows[at++]};
    next += RoundUpRows(limits.max_rows) * rows->stride;
  }
  read_rows = {next, widths.of_reads};
}

std::int64_t Workspace::Bytes(const ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits) {
  return WorkspaceFloats(WorkspaceWidths(config, partition), limits) *
         static_cast<std::int64_t>(sizeof(float));
}

Transformer::Transformer(const ModelConfig& config, const Checkpoint& checkpoint,
                         proto::Communicator& group, GemmBackend& backend, const Kernels& kernels,
                         ThreadPool& pool, const proto::PlanLimits& limits)
    : config_(config),
      limits_(limits),
      partition_(proto::MakePartition(config, group.rank(), group.size())),
      embedding_(
          checkpoint.Require("model.embed_tokens.weight", {config.vocab_size, config.hidden_size})),
      group_(group),
      kernels_(kernels),
      pool_(pool),
      layers_(LoadLayers(config, checkpoint, partition_, backend)),
      final_norm_(LoadVector(checkpoint.Require("model.norm.weight", {config.hidden_size}))),
      lm_head_(kernels, backend, LmHeadWeight(config, checkpoint), partition_.vocabulary,
               pool.threads()),
      rope_(config.rope_theta, config.head_dim),
      kv_store_(config.num_hidden_layers, partition_.kv_heads.size(), config.head_dim,
                limits.kept_kv_rows, limits.pass_kv_rows),
      attention_(kernels, partition_.heads, partition_.kv_heads, config.num_query_groups(),
                 config.head_dim, pool.threads()),
      row_map_(limits.max_rows),
      work_(config, partition_, limits) {
  // From here on single rows of it are read, if any.
  checkpoint.Release(LmHeadWeight(config, checkpoint));
}

std::vector<std::byte> Transformer::Forward(const ForwardPlan& plan) {
  proto::Check(static_cast<std::int64_t>(plan.tokens.size()) <= limits_.max_rows &&
                   static_cast<std::int64_t>(plan.reads.size()) <= limits_.max_reads,
               "a plan keeps its limits");
  Embed(plan);
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    Attend(plan, static_cast<std::int64_t>(index), layers_[index]);
    FeedForward(layers_[index]);
  }
  pool_.ParallelFor(static_cast<std::int64_t>(plan.reads.size()), [&](std::int64_t i, int) {
    const std::int64_t row = plan.reads[static_cast<std::size_t>(i)].row;
    kernels_.rms_norm(work_.hidden[row], final_norm_.data(), config_.hidden_size,
                      static_cast<float>(config_.rms_norm_eps), work_.read_rows[i]);
  });
  return lm_head_.Answer(plan, {work_.read_rows.data, work_.read_rows.stride}, pool_);
}

void Transformer::Embed(const ForwardPlan& plan) {
  row_map_.Assign(plan);
  rows_ = static_cast<std::int64_t>(plan.tokens.size());
  std::int32_t position_limit = 0;
  for (const RowPlace& place : row_map_.rows()) {
    position_limit = std::max(position_limit, place.position + 1);
  }
  rope_.Extend(position_limit);
  ForEachRow([&](std::int64_t row) {
    const proto::TokenId id = plan.tokens[static_cast<std::size_t>(row)];
    ReadRows(embedding_, {id, id + 1}, work_.hidden[row]);
  });
  // GEMMs run over whole granules of rows; what they read of the last one past the plan is zero.
  for (std::int64_t row = rows_; row < RoundUpRows(rows_); ++row) {
    std::fill_n(work_.normed[row], work_.normed.stride, 0.0F);
    std::fill_n(work_.attention[row], work_.attention.stride, 0.0F);
    std::fill_n(work_.gate_up[row], work_.gate_up.stride, 0.0F);
  }
}

void Transformer::Attend(const ForwardPlan& plan, std::int64_t index, const Layer& layer) {
  Norm(layer.input_norm, {work_.hidden.data, work_.hidden.stride}, work_.normed);
  layer.qkv.Forward({work_.normed.data, work_.normed.stride}, rows_, work_.qkv, pool_);
  ForEachRow([&](std::int64_t row) { FinishQkvRow(plan, index, layer, row); });
  attention_.Forward(plan, row_map_, index, kv_store_, {work_.qkv.data, work_.qkv.stride},
                     work_.attention, pool_);
  layer.output.Forward({work_.attention.data, work_.attention.stride}, rows_, work_.summand, pool_);
  AddSumOverRanks(layer.output_bias);
}

void Transformer::FeedForward(const Layer& layer) {
  const std::int64_t width = partition_.intermediate.size();
  Norm(layer.post_attention_norm, {work_.hidden.data, work_.hidden.stride}, work_.normed);
  layer.gate_up.Forward({work_.normed.data, work_.normed.stride}, rows_, work_.gate_up, pool_);
  ForEachRow([&](std::int64_t row) {
    float* gate = work_.gate_up[row];
    if (!layer.gate_up_bias.empty()) {
      kernels_.add(layer.gate_up_bias.data(), 2 * width, gate);
    }
    kernels_.swiglu(gate, gate + width, width, gate);
  });
  layer.down.Forward({work_.gate_up.data, work_.gate_up.stride}, rows_, work_.summand, pool_);
  AddSumOverRanks(layer.down_bias);
}

void Transformer::FinishQkvRow(const ForwardPlan& plan, std::int64_t index, const Layer& layer,
                               std::int64_t row) {
  const std::int64_t head_dim = config_.head_dim;
  const auto eps = static_cast<float>(config_.rms_norm_eps);
  const RowPlace& place = row_map_.rows()[static_cast<std::size_t>(row)];
  const float* cosine = rope_.cosine(place.position);
  const float* sine = rope_.sine(place.position);
  float* queries = work_.qkv[row];
  float* keys = queries + partition_.heads.size() * head_dim;
  float* values = keys + partition_.kv_heads.size() * head_dim;
  if (!layer.qkv_bias.empty()) {
    kernels_.add(layer.qkv_bias.data(), work_.qkv.stride, queries);
  }
  const auto finish_heads = [&](float* head, std::int64_t heads, const std::vector<float>& norm) {
    for (std::int64_t h = 0; h < heads; ++h, head += head_dim) {
      if (!norm.empty()) {
        kernels_.rms_norm(head, norm.data(), head_dim, eps, head);
      }
      kernels_.rope(cosine, sine, head_dim, head);
    }
  };
  finish_heads(queries, partition_.heads.size(), layer.query_norm);
  finish_heads(keys, partition_.kv_heads.size(), layer.key_norm);

  const proto::PlanSegment& segment = plan.sequences[static_cast<std::size_t>(place.sequence)]
                                          .segments[static_cast<std::size_t>(place.segment)];
  for (std::int64_t h = 0; h < partition_.kv_heads.size(); ++h) {
    kv_store_.Write(kv_store_.At(index, h, segment.kv), place.row_in_segment, keys + h * head_dim,
                    values + h * head_dim);
  }
}

void Transformer::Norm(const std::vector<float>& weight, Rows<const float> in, Rows<float> out) {
  ForEachRow([&](std::int64_t row) {
    kernels_.rms_norm(in[row], weight.data(), config_.hidden_size,
                      static_cast<float>(config_.rms_norm_eps), out[row]);
  });
}

void Transformer::AddSumOverRanks(const std::vector<float>& bias) {
  const std::int64_t h = config_.hidden_size;
  group_.AllReduceSum({work_.summand.data, static_cast<std::size_t>(rows_ * h)});
  ForEachRow([&](std::int64_t row) {
    if (!bias.empty()) {
      kernels_.add(bias.data(), h, work_.summand[row]);
    }
    kernels_.add(work_.summand[row], h, work_.hidden[row]);
  });
}

template <typename Body>
void Transformer::ForEachRow(Body body) {
  pool_.ParallelFor((rows_ + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(rows_, (task + 1) * kRowsPerTask);
    for (std::int64_t row = task * kRowsPerTask; row < end; ++row) {
      body(row);
    }
  });
}

}  // namespace scorecast::shard
