#include "tests/reference/reference_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/reference/dense_mask.h"
#include "tests/reference/reference_config.h"
#include "tests/reference/take_tensor.h"

namespace scorecast::reference {
namespace {

/// To which queries, keys, values and attention weights are rounded.
Precision FactorPrecision(Precision products) {
  return products == Precision::kInt8 ? Precision::kBfloat16 : products;
}

void AddTo(std::vector<std::vector<double>>& sum, const std::vector<std::vector<double>>& terms) {
  for (std::size_t row = 0; row < sum.size(); ++row) {
    for (std::size_t i = 0; i < sum[row].size(); ++i) {
      sum[row][i] += terms[row][i];
    }
  }
}

double SoftCapped(double x, const std::optional<double>& cap) {
  return cap ? *cap * std::tanh(x / *cap) : x;
}

}  // namespace

ReferenceModel::ReferenceModel(const std::filesystem::path& model_dir, Rounding rounding)
    : ReferenceModel(model_dir, ReadReferenceConfig(model_dir), rounding) {}

ReferenceModel::ReferenceModel(const std::filesystem::path& model_dir, proto::ModelConfig config,
                               Rounding rounding)
    : config_(std::move(config)), rounding_(rounding) {
  const proto::ModelConfig& c = config_;
  for (const proto::RopeConfig& rope : c.rope_tables) {
    ropes_.emplace_back(rope, c.head_dim);
  }
  Tensors tensors = ReadCheckpoint(model_dir);
  if (c.embedding_norm) {
    TakeEncoder(tensors);
  } else {
    TakeDecoder(tensors);
  }
  if (c.read_head) {
    TakeSteps(tensors);
  } else {
    head_ = TakeHead(tensors);
  }
  if (!tensors.empty()) {
    throw std::runtime_error("tensor " + tensors.begin()->first + " would not be used");
  }
  RoundWeights();
}

void ReferenceModel::TakeDecoder(Tensors& tensors) {
  const proto::ModelConfig& c = config_;
  embed_tokens_ = {Take(tensors, "model.embed_tokens.weight", {c.vocab_size, c.hidden_size}),
                   {},
                   c.vocab_size,
                   c.hidden_size};
  for (std::int64_t index = 0; index < c.num_hidden_layers(); ++index) {
    layers_.push_back(TakeLayer(tensors, index));
  }
  norm_ = TakeNorm(tensors, "model.norm");
}

ReferenceModel::Linear ReferenceModel::TakeHead(Tensors& tensors) const {
  const std::int64_t hidden_size = config_.hidden_size;
  if (config_.is_classifier()) {
    const std::int64_t classes = config_.num_labels;
    Linear head = {Take(tensors, "score.weight", {classes, hidden_size}), {}, classes, hidden_size};
    if (tensors.contains("score.bias")) {
      head.bias = Take(tensors, "score.bias", {classes});
    }
    return head;
  }
  if (config_.tie_word_embeddings) {
    return embed_tokens_;
  }
  const std::int64_t tokens = config_.vocab_size;
  return {Take(tensors, "lm_head.weight", {tokens, hidden_size}), {}, tokens, hidden_size};
}

std::vector<double> ReferenceModel::NormWeights(std::vector<double> weight) const {
  for (double& w : weight) {
    w += config_.norm_weights_plus_one ? 1 : 0;
  }
  return weight;
}

void ReferenceModel::RoundWeights() {
  const auto fold = [](Norm& norm, std::vector<Linear*> followers) {
    if (norm.weight.empty() || !norm.bias.empty()) {
      return;
    }
    for (Linear* linear : followers) {
      for (std::size_t i = 0; i < linear->weight.size(); ++i) {
        linear->weight[i] *= norm.weight[i % norm.weight.size()];
      }
    }
    std::fill(norm.weight.begin(), norm.weight.end(), 1.0);
  };
  const auto round = [](Precision precision, Linear& linear) {
    const auto in = static_cast<std::size_t>(linear.in);
    for (std::size_t begin = 0; begin < linear.weight.size(); begin += in) {
      Round(precision, std::span(linear.weight).subspan(begin, in));
    }
  };
  for (Layer& layer : layers_) {
    if (rounding_.products == Precision::kInt8) {
      fold(layer.input_layernorm, {&layer.q_proj, &layer.k_proj, &layer.v_proj});
      fold(layer.pre_feedforward_norm, {&layer.gate_proj, &layer.up_proj});
    }
    for (Linear* linear : {&layer.q_proj, &layer.k_proj, &layer.v_proj, &layer.o_proj,
                           &layer.gate_proj, &layer.up_proj, &layer.down_proj}) {
      round(rounding_.products, *linear);
    }
  }
  if (!config_.is_classifier() && !config_.read_head) {
    round(FactorPrecision(rounding_.products), head_);
  }
}

void ReferenceModel::RoundFactors(Rows& rows) const {
  for (std::vector<double>& row : rows) {
    Round(FactorPrecision(rounding_.products), row);
  }
}

ReferenceModel::Layer ReferenceModel::TakeLayer(Tensors& tensors, std::int64_t index) const {
  const proto::ModelConfig& c = config_;
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const auto norm = [&](const std::string& name) { return TakeNorm(tensors, prefix + name); };
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    return TakeLinear(tensors, prefix + name, out, in, bias);
  };

  const std::int64_t q_size = c.num_attention_heads * c.head_dim;
  const std::int64_t kv_size = c.num_key_value_heads * c.head_dim;
  Layer layer;
  layer.input_layernorm = norm("input_layernorm");
  layer.q_proj = linear("self_attn.q_proj", q_size, c.hidden_size, c.attention_bias);
  layer.k_proj = linear("self_attn.k_proj", kv_size, c.hidden_size, c.attention_bias);
  layer.v_proj = linear("self_attn.v_proj", kv_size, c.hidden_size, c.attention_bias);
  const proto::LayerConfig& options = c.layers[static_cast<std::size_t>(index)];
  layer.options = options;
  if (options.qk_norm) {
    layer.q_norm = norm("self_attn.q_norm").weight;
    layer.k_norm = norm("self_attn.k_norm").weight;
  }
  layer.o_proj = linear("self_attn.o_proj", c.hidden_size, q_size, c.attention_output_bias);
  if (options.post_attention_norm) {
    layer.post_attention_norm = norm("post_attention_layernorm");
    layer.pre_feedforward_norm = norm("pre_feedforward_layernorm");
  } else {
    layer.pre_feedforward_norm = norm("post_attention_layernorm");
  }
  layer.gate_proj = linear("mlp.gate_proj", c.intermediate_size, c.hidden_size, c.mlp_bias);
  layer.up_proj = linear("mlp.up_proj", c.intermediate_size, c.hidden_size, c.mlp_bias);
  layer.down_proj = linear("mlp.down_proj", c.hidden_size, c.intermediate_size, c.mlp_bias);
  if (options.post_feedforward_norm) {
    layer.post_feedforward_norm = norm("post_feedforward_layernorm");
  }
  return layer;
}

ReferenceModel::Rows ReferenceModel::Embedded(std::span<const proto::TokenId> tokens,
                                              std::span<const proto::Segment> segments,
                                              std::span<const std::uint8_t> types) const {
  const auto size = static_cast<std::size_t>(embed_tokens_.in);
  Rows x;
  std::size_t row = 0;
  for (const proto::Segment& segment : segments) {
    std::int32_t counted = 0;  // Rows of the segment so far, without padding.
    for (std::int32_t i = 0; i < segment.length; ++i, ++row) {
      const proto::TokenId token = tokens[row];
      const auto begin = embed_tokens_.weight.begin() + token * embed_tokens_.in;
      std::vector<double>& hidden = x.emplace_back(begin, begin + embed_tokens_.in);
      for (double& element : hidden) {
        element *= config_.embedding_scale;
      }
      const auto add = [&](const std::vector<double>& table, std::size_t index) {
        for (std::size_t column = 0; column < size; ++column) {
          hidden[column] += table.at(index * size + column);
        }
      };
      if (!token_types_.empty()) {
        add(token_types_, types.empty() ? 0 : types[row]);
      }
      if (!positions_.empty() && config_.learned_positions->padding) {
        const proto::TokenId padding = *config_.learned_positions->padding;
        add(positions_, static_cast<std::size_t>(token == padding ? padding : padding + ++counted));
      } else if (!positions_.empty()) {
        add(positions_, static_cast<std::size_t>(segment.first_position + i));
      }
    }
  }
  x = Normed(x, embedding_norm_);
  if (!embeddings_project_.weight.empty()) {
    for (std::vector<double>& hidden : x) {
      hidden = Apply(embeddings_project_, hidden);
    }
  }
  return x;
}

ReferenceModel::Rows ReferenceModel::FinalRows(std::span<const proto::TokenId> tokens,
                                               std::span<const proto::Segment> segments,
                                               std::span<const std::int32_t> rows,
                                               const proto::BlockWeighting& weighting,
                                               std::span<const std::uint8_t> types) const {
  const std::vector<std::int32_t> positions = RowPositions(segments);
  Mask mask = {{}, {}, weighting};
  for (const proto::Segment& segment : segments) {
    mask.kinds.insert(mask.kinds.end(), static_cast<std::size_t>(segment.length), segment.kind);
  }
  if (positions.size() != tokens.size()) {
    throw std::runtime_error("segments do not add up to the tokens");
  }
  Rows x = Embedded(tokens, segments, types);
  for (const Layer& layer : layers_) {
    mask.sees = DenseMask(segments, layer.options.sliding_window, config_.bidirectional);
    for (const bool is_mlp : {false, true}) {
      Rows added = is_mlp ? Mlp(layer, Normed(x, layer.pre_feedforward_norm))
                          : Attention(layer, Normed(x, layer.input_layernorm), positions, mask);
      if (rounding_.summands) {
        RoundFactors(added);
      }
      AddTo(x, Normed(added, is_mlp ? layer.post_feedforward_norm : layer.post_attention_norm));
      x = Normed(x, is_mlp ? layer.feedforward_residual_norm : layer.attention_residual_norm);
    }
  }
  Rows read;
  for (const std::int32_t row : rows) {
    read.push_back(x.at(static_cast<std::size_t>(row)));
  }
  return Normed(read, norm_);
}

ReferenceModel::Rows ReferenceModel::Logits(std::span<const proto::TokenId> tokens,
                                            std::span<const proto::Segment> segments,
                                            std::span<const std::int32_t> rows,
                                            const proto::BlockWeighting& weighting,
                                            std::span<const std::uint8_t> types) const {
  Rows read = FinalRows(tokens, segments, rows, weighting, types);
  if (!config_.is_classifier()) {
    RoundFactors(read);
  }
  Rows logits;
  for (const std::vector<double>& row : read) {
    logits.push_back(Apply(head_, row));
    for (double& logit : logits.back()) {
      logit = SoftCapped(logit, config_.final_logit_softcapping);
    }
  }
  return logits;
}

std::vector<double> ReferenceModel::AttentionWeights(const std::vector<double>& score,
                                                     std::size_t row, const Mask& mask) const {
  /// The keys that share one softmax.
  struct Part {
    double temperature = 1;
    double scale = 1;
    double max = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double weight = 0;  // The weight of the whole part.
  };
  Part parts[2];
  if (mask.IsWeighed(row)) {
    parts[1].temperature = mask.weighting.temperature;
    parts[1].scale = mask.weighting.scale;
  }
  const auto part_of = [&](std::size_t key) -> Part& {
    return parts[mask.IsWeighed(row) && mask.kinds[key] == proto::SegmentKind::kBlock];
  };
  for (std::size_t key = 0; key < score.size(); ++key) {
    part_of(key).max = std::max(part_of(key).max, score[key]);
  }
  std::vector<double> weight(score.size(), 0.0);
  for (std::size_t key = 0; key < score.size(); ++key) {
    if (mask.sees[row][key]) {
      Part& part = part_of(key);
      weight[key] = std::exp((score[key] - part.max) / part.temperature);
      part.sum += weight[key];
      Round(FactorPrecision(rounding_.products), std::span(&weight[key], 1));
    }
  }
  double weights = 0;
  for (Part& part : parts) {
    if (part.sum > 0) {
      // exp(T logsumexp(s / T) + ln S), relative to the larger maximum.
      const double max = std::max(parts[0].max, parts[1].max);
      part.weight = std::exp(part.max - max) * std::pow(part.sum, part.temperature) * part.scale;
      weights += part.weight;
    }
  }
  for (std::size_t key = 0; key < score.size(); ++key) {
    if (mask.sees[row][key]) {
      const Part& part = part_of(key);
      weight[key] *= part.weight / weights / part.sum;
    }
  }
  return weight;
}

ReferenceModel::Rows ReferenceModel::Attention(const Layer& layer, const Rows& x,
                                               std::span<const std::int32_t> positions,
                                               const Mask& mask) const {
  const auto heads = static_cast<std::size_t>(config_.num_attention_heads);
  const auto kv_heads = static_cast<std::size_t>(config_.num_key_value_heads);
  const auto head_dim = static_cast<std::size_t>(config_.head_dim);
  Rows q = Apply(layer.q_proj, x);  // [rows][heads * head_dim]
  Rows k = Apply(layer.k_proj, x);  // [rows][kv_heads * head_dim]
  Rows v = Apply(layer.v_proj, x);

  const auto norm_and_rotate = [&](Rows& projected, const std::vector<double>& norm) {
    for (std::size_t row = 0; row < projected.size(); ++row) {
      for (std::size_t begin = 0; begin < projected[row].size(); begin += head_dim) {
        const std::span<double> head(projected[row].data() + begin, head_dim);
        if (!norm.empty()) {
          RmsNorm(head, norm);
        }
        if (!ropes_.empty()) {
          ropes_[layer.options.rope_table].Rotate(head, positions[row]);
        }
      }
    }
  };
  norm_and_rotate(q, layer.q_norm);
  norm_and_rotate(k, layer.k_norm);

  const double scale =
      config_.query_scale != 0 ? config_.query_scale : 1 / std::sqrt(static_cast<double>(head_dim));
  for (std::vector<double>& row : q) {
    for (double& element : row) {
      element *= scale;
    }
  }
  RoundFactors(q);
  RoundFactors(k);
  RoundFactors(v);
  Rows mixed(x.size(), std::vector<double>(heads * head_dim, 0.0));
  for (std::size_t row = 0; row < x.size(); ++row) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t q_begin = head * head_dim;
      const std::size_t kv_begin = head / (heads / kv_heads) * head_dim;

      std::vector<double> score(x.size(), -std::numeric_limits<double>::infinity());
      for (std::size_t key = 0; key < x.size(); ++key) {
        if (mask.sees[row][key]) {
          double dot = 0;
          for (std::size_t i = 0; i < head_dim; ++i) {
            dot += q[row][q_begin + i] * k[key][kv_begin + i];
          }
          score[key] = SoftCapped(dot, config_.attn_logit_softcapping);
        }
      }

      const std::vector<double> weight = AttentionWeights(score, row, mask);
      for (std::size_t key = 0; key < x.size(); ++key) {
        if (!mask.sees[row][key]) {
          continue;
        }
        for (std::size_t i = 0; i < head_dim; ++i) {
          mixed[row][q_begin + i] += weight[key] * v[key][kv_begin + i];
        }
      }
    }
  }
  return Apply(layer.o_proj, mixed);
}

double ReferenceModel::Activated(double x) const {
  switch (config_.hidden_activation) {
    case proto::Activation::kSilu:
      return x / (1 + std::exp(-x));
    case proto::Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case proto::Activation::kGeluTanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case proto::Activation::kRelu:
      return std::max(x, 0.0);
  }
  throw std::logic_error("an unknown activation");
}

ReferenceModel::Rows ReferenceModel::Mlp(const Layer& layer, const Rows& x) const {
  Rows up = Apply(layer.up_proj, x);
  if (!config_.gated_feedforward) {
    for (std::vector<double>& row : up) {
      std::transform(row.begin(), row.end(), row.begin(), [&](double v) { return Activated(v); });
    }
    return Apply(layer.down_proj, up);
  }
  Rows gate = Apply(layer.gate_proj, x);
  for (std::size_t row = 0; row < gate.size(); ++row) {
    for (std::size_t i = 0; i < gate[row].size(); ++i) {
      gate[row][i] = Activated(gate[row][i]) * up[row][i];
    }
  }
  return Apply(layer.down_proj, gate);
}

void ReferenceModel::RmsNorm(std::span<double> x, const std::vector<double>& weight) const {
  double squares = 0;
  for (const double value : x) {
    squares += value * value;
  }
  const double rms = std::sqrt(squares / static_cast<double>(x.size()) + config_.norm_eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = x[i] / rms * weight[i];
  }
}

void ReferenceModel::LayerNorm(std::span<double> x, const Norm& norm, double eps) {
  const auto n = static_cast<double>(x.size());
  double mean = 0;
  for (const double value : x) {
    mean += value / n;
  }
  double variance = 0;
  for (const double value : x) {
    variance += (value - mean) * (value - mean) / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = (x[i] - mean) / std::sqrt(variance + eps) * norm.weight[i] +
           (norm.bias.empty() ? 0.0 : norm.bias[i]);
  }
}

ReferenceModel::Rows ReferenceModel::Normed(Rows x, const Norm& norm) const {
  for (std::vector<double>& row : x) {
    if (norm.weight.empty()) {
      continue;
    }
    if (config_.norm == proto::NormKind::kLayer) {
      LayerNorm(row, norm, config_.norm_eps);
    } else {
      RmsNorm(row, norm.weight);
    }
  }
  return x;
}

std::vector<double> ReferenceModel::Apply(const Linear& linear, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(linear.out), 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double* weight = linear.weight.data() + i * x.size();
    double sum = linear.bias.empty() ? 0.0 : linear.bias[i];
    for (std::size_t j = 0; j < x.size(); ++j) {
      sum += weight[j] * x[j];
    }
    y[i] = sum;
  }
  return y;
}

ReferenceModel::Rows ReferenceModel::Apply(const Linear& linear, Rows x) const {
  Rows y;
  y.reserve(x.size());
  for (std::vector<double>& row : x) {
    Round(rounding_.products, row);
    y.push_back(Apply(linear, row));
  }
  return y;
}

}  // namespace scorecast::reference
