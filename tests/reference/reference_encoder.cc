// The encoders' part of the oracle: their tensors, and what becomes of a text's rows.

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "tests/reference/reference_head.h"
#include "tests/reference/reference_model.h"
#include "tests/reference/take_tensor.h"

namespace scorecast::reference {
namespace {

/// Rows [begin, begin + count) of a matrix or, if `columns` is 1, of a vector.
std::vector<double> Part(const std::vector<double>& values, std::int64_t begin, std::int64_t count,
                         std::int64_t columns) {
  const auto first = values.begin() + begin * columns;
  return {first, first + count * columns};
}

}  // namespace

ReferenceModel::Norm ReferenceModel::TakeNorm(Tensors& tensors, const std::string& name) const {
  const std::int64_t size = tensors.at(name + ".weight").shape.at(0);
  Norm norm;
  norm.weight = NormWeights(Take(tensors, name + ".weight", {size}));
  if (config_.norm_bias) {
    norm.bias = Take(tensors, name + ".bias", {size});
  }
  return norm;
}

ReferenceModel::Linear ReferenceModel::TakeLinear(Tensors& tensors, const std::string& name,
                                                  std::int64_t out, std::int64_t in,
                                                  bool bias) const {
  Linear linear{
      .weight = Take(tensors, name + ".weight", {out, in}), .bias = {}, .out = out, .in = in};
  if (bias) {
    linear.bias = Take(tensors, name + ".bias", {out});
  }
  return linear;
}

void ReferenceModel::TakeEncoder(Tensors& tensors) {
  const proto::ModelConfig& c = config_;
  const bool is_modern = c.model_type == "modernbert";
  const std::string words =
      is_modern ? "embeddings.tok_embeddings.weight" : "embeddings.word_embeddings.weight";
  const std::string base = tensors.contains(c.base_prefix + words) ? c.base_prefix : "";
  const std::int64_t size = c.embedding_size.value_or(c.hidden_size);
  embed_tokens_ = {Take(tensors, base + words, {c.vocab_size, size}), {}, c.vocab_size, size};
  embedding_norm_ =
      TakeNorm(tensors, base + (is_modern ? "embeddings.norm" : "embeddings.LayerNorm"));
  if (c.learned_positions) {
    positions_ = Take(tensors, base + "embeddings.position_embeddings.weight",
                      {c.learned_positions->rows, size});
  }
  if (c.type_vocab_size > 0) {
    token_types_ =
        Take(tensors, base + "embeddings.token_type_embeddings.weight", {c.type_vocab_size, size});
  }
  if (c.embedding_size) {
    embeddings_project_ =
        TakeLinear(tensors, base + "embeddings_project", c.hidden_size, size, /*bias=*/true);
  }
  if (is_modern) {
    norm_ = TakeNorm(tensors, base + "final_norm");
  }
  for (std::int64_t i = 0; i < c.num_hidden_layers(); ++i) {
    const std::string number = std::to_string(i) + ".";
    const std::string layers = is_modern                      ? "layers."
                               : c.model_type == "distilbert" ? "transformer.layer."
                                                              : "encoder.layer.";
    layers_.push_back(is_modern ? TakeModernBertLayer(tensors, base + layers + number)
                                : TakeBertLayer(tensors, base + layers + number));
    layers_.back().options = c.layers[static_cast<std::size_t>(i)];
  }
  tensors.erase(base + "embeddings.position_ids");
  if (!c.is_classifier()) {
    // Heads that an embedder does not read.
    std::erase_if(tensors, [&](const auto& tensor) {
      const std::string& name = tensor.first;
      return name.starts_with(base + "pooler.") || name.starts_with("cls.") ||
             name.starts_with("lm_head.") || name.starts_with("head.") ||
             name.starts_with("decoder.") || name.starts_with("vocab_");
    });
  }
}

ReferenceModel::Layer ReferenceModel::TakeBertLayer(Tensors& tensors,
                                                    const std::string& prefix) const {
  const std::int64_t h = config_.hidden_size;
  const std::int64_t i = config_.intermediate_size;
  const bool is_distilbert = config_.model_type == "distilbert";
  const auto linear = [&](const char* of_bert, const char* of_distilbert, std::int64_t out,
                          std::int64_t in) {
    return TakeLinear(tensors, prefix + (is_distilbert ? of_distilbert : of_bert), out, in, true);
  };
  Layer layer;
  layer.q_proj = linear("attention.self.query", "attention.q_lin", h, h);
  layer.k_proj = linear("attention.self.key", "attention.k_lin", h, h);
  layer.v_proj = linear("attention.self.value", "attention.v_lin", h, h);
  layer.o_proj = linear("attention.output.dense", "attention.out_lin", h, h);
  layer.attention_residual_norm =
      TakeNorm(tensors, prefix + (is_distilbert ? "sa_layer_norm" : "attention.output.LayerNorm"));
  layer.up_proj = linear("intermediate.dense", "ffn.lin1", i, h);
  layer.down_proj = linear("output.dense", "ffn.lin2", h, i);
  layer.feedforward_residual_norm =
      TakeNorm(tensors, prefix + (is_distilbert ? "output_layer_norm" : "output.LayerNorm"));
  return layer;
}

ReferenceModel::Layer ReferenceModel::TakeModernBertLayer(Tensors& tensors,
                                                          const std::string& prefix) const {
  const std::int64_t h = config_.hidden_size;
  const std::int64_t i = config_.intermediate_size;
  Layer layer;
  if (tensors.contains(prefix + "attn_norm.weight")) {
    layer.input_layernorm = TakeNorm(tensors, prefix + "attn_norm");
  }
  const auto rows_of = [](const Linear& linear, std::int64_t begin, std::int64_t count) {
    return Linear{.weight = Part(linear.weight, begin, count, linear.in),
                  .bias = linear.bias.empty() ? linear.bias : Part(linear.bias, begin, count, 1),
                  .out = count,
                  .in = linear.in};
  };
  const Linear qkv = TakeLinear(tensors, prefix + "attn.Wqkv", 3 * h, h, config_.attention_bias);
  layer.q_proj = rows_of(qkv, 0, h);
  layer.k_proj = rows_of(qkv, h, h);
  layer.v_proj = rows_of(qkv, 2 * h, h);
  layer.o_proj = TakeLinear(tensors, prefix + "attn.Wo", h, h, config_.attention_output_bias);
  layer.pre_feedforward_norm = TakeNorm(tensors, prefix + "mlp_norm");
  const Linear input = TakeLinear(tensors, prefix + "mlp.Wi", 2 * i, h, config_.mlp_bias);
  layer.gate_proj = rows_of(input, 0, i);
  layer.up_proj = rows_of(input, i, i);
  layer.down_proj = TakeLinear(tensors, prefix + "mlp.Wo", h, i, config_.mlp_bias);
  return layer;
}

void ReferenceModel::TakeSteps(Tensors& tensors) {
  std::int64_t in = config_.hidden_size * std::ssize(config_.read_head->pooling);
  for (const proto::HeadStep& step : config_.read_head->steps) {
    if (!step.weight.empty()) {
      step_tensors_[step.weight] = Take(tensors, step.weight, {step.out_features, in});
    }
    for (const std::string& vector : {step.bias, step.norm, step.norm_bias}) {
      if (!vector.empty()) {
        step_tensors_[vector] = Take(tensors, vector, {step.out_features});
      }
    }
    in = step.out_features;
  }
}

std::vector<double> ReferenceModel::TextResult(std::span<const proto::TokenId> tokens,
                                               std::span<const std::uint8_t> types) const {
  const std::vector<proto::Segment> segments = {
      {proto::SegmentKind::kPrefix, static_cast<std::int32_t>(tokens.size()), 0}};
  std::vector<std::int32_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  return ApplyReadHead(*config_.read_head, FinalRows(tokens, segments, all, {}, types),
                       [&](const proto::HeadStep& /*step*/, const std::string& name) {
                         return step_tensors_.at(name);
                       });
}

}  // namespace scorecast::reference
