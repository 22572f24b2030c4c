#include "tests/reference/reference_encoder_config.h"

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace scorecast::reference {
namespace {

using nlohmann::json;
using proto::Activation;
using proto::HeadActivation;
using proto::ModelConfig;

Activation ActivationOf(const std::string& name) {
  static const std::map<std::string, Activation> known = {
      {"gelu", Activation::kGelu},         {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_new", Activation::kGeluTanh}, {"relu", Activation::kRelu},
      {"silu", Activation::kSilu},
  };
  return known.at(name);
}

void ReadBert(const json& config, ModelConfig& model) {
  const bool is_distilbert = model.model_type == "distilbert";
  const auto size = [&](const char* of_bert, const char* of_distilbert) {
    return config.at(is_distilbert ? of_distilbert : of_bert).get<std::int64_t>();
  };
  model.hidden_size = size("hidden_size", "dim");
  model.layers.resize(static_cast<std::size_t>(size("num_hidden_layers", "n_layers")));
  model.num_attention_heads = size("num_attention_heads", "n_heads");
  model.intermediate_size = size("intermediate_size", "hidden_dim");
  model.hidden_activation =
      ActivationOf(config.at(is_distilbert ? "activation" : "hidden_act").get<std::string>());
  model.norm_eps = is_distilbert ? 1e-12 : config.at("layer_norm_eps").get<double>();
  model.norm_bias = true;
  model.final_norm = false;
  model.gated_feedforward = false;
  model.attention_bias = true;
  model.attention_output_bias = true;
  model.mlp_bias = true;
  model.rope_tables.clear();
  for (proto::LayerConfig& layer : model.layers) {
    layer.input_norm = false;
    layer.pre_feedforward_norm = false;
    layer.residual_norms = true;
  }
  model.learned_positions.emplace().rows = model.max_position_embeddings;
  if (model.base_prefix == "roberta.") {
    const auto padding = config.at("pad_token_id").get<proto::TokenId>();
    model.learned_positions->padding = padding;
    model.max_position_embeddings -= padding + 1;
  }
  if (model.model_type == "electra" && config.at("embedding_size") != config.at("hidden_size")) {
    model.embedding_size = config.at("embedding_size").get<std::int64_t>();
  }
  model.type_vocab_size = is_distilbert ? 0 : config.at("type_vocab_size").get<std::int64_t>();
}

void ReadModernBert(const json& config, ModelConfig& model) {
  model.hidden_size = config.at("hidden_size").get<std::int64_t>();
  model.layers.resize(config.at("num_hidden_layers").get<std::size_t>());
  model.num_attention_heads = config.at("num_attention_heads").get<std::int64_t>();
  model.intermediate_size = config.at("intermediate_size").get<std::int64_t>();
  model.hidden_activation = ActivationOf(config.at("hidden_activation").get<std::string>());
  model.norm_eps = config.at("norm_eps").get<double>();
  model.norm_bias = config.at("norm_bias").get<bool>();
  model.attention_bias = config.at("attention_bias").get<bool>();
  model.attention_output_bias = model.attention_bias;
  model.mlp_bias = config.at("mlp_bias").get<bool>();
  double global = 0;
  double local = 0;
  if (config.contains("rope_parameters")) {
    const json& rope = config.at("rope_parameters");
    global = rope.at("full_attention").at("rope_theta").get<double>();
    local = rope.at("sliding_attention").at("rope_theta").get<double>();
  } else {
    global = config.at("global_rope_theta").get<double>();
    local = config.at("local_rope_theta").get<double>();
  }
  model.rope_tables = {{.theta = global}, {.theta = local}};
  const auto every = config.at("global_attn_every_n_layers").get<std::size_t>();
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    model.layers[i].input_norm = i > 0;
    if (i % every != 0) {
      model.layers[i].rope_table = 1;
      model.layers[i].sliding_window = config.at("local_attention").get<std::int64_t>() / 2 + 1;
    }
  }
}

proto::ReadHead ReadHeadOf(const json& config, const ModelConfig& model) {
  if (model.num_labels == 0) {
    return {.pooling = {proto::Pooling::kMean}, .output_size = model.hidden_size};
  }
  proto::HeadStep dense{.out_features = model.hidden_size};
  proto::HeadStep out{
      .weight = "classifier.weight", .bias = "classifier.bias", .out_features = model.num_labels};
  proto::Pooling pooling = proto::Pooling::kCls;
  if (model.model_type == "bert") {
    dense.weight = "bert.pooler.dense.weight";
    dense.bias = "bert.pooler.dense.bias";
    dense.activation = HeadActivation::kTanh;
  } else if (model.model_type == "distilbert") {
    dense.weight = "pre_classifier.weight";
    dense.bias = "pre_classifier.bias";
    dense.activation = HeadActivation::kRelu;
  } else if (model.model_type == "modernbert") {
    dense.weight = "head.dense.weight";
    dense.bias = config.at("classifier_bias").get<bool>() ? "head.dense.bias" : "";
    dense.norm = "head.norm.weight";
    dense.norm_bias = model.norm_bias ? "head.norm.bias" : "";
    dense.norm_eps = model.norm_eps;
    dense.activation = config.at("classifier_activation") == "silu" ? HeadActivation::kSilu
                                                                    : HeadActivation::kGelu;
    if (config.at("classifier_pooling") == "mean") {
      pooling = proto::Pooling::kMean;
    }
  } else {
    dense.weight = "classifier.dense.weight";
    dense.bias = "classifier.dense.bias";
    dense.activation =
        model.model_type == "electra" ? HeadActivation::kGelu : HeadActivation::kTanh;
    out.weight = "classifier.out_proj.weight";
    out.bias = "classifier.out_proj.bias";
  }
  return {.pooling = {pooling}, .steps = {dense, out}, .output_size = model.num_labels};
}

}  // namespace

bool IsEncoder(const json& config) {
  const auto type = config.at("model_type").get<std::string>();
  return type.ends_with("bert") || type.ends_with("roberta") || type == "electra";
}

ModelConfig ReadEncoderConfig(const json& config) {
  ModelConfig model;
  model.architecture = config.at("architectures").at(0).get<std::string>();
  model.model_type = config.at("model_type").get<std::string>();
  model.base_prefix = model.model_type == "modernbert"   ? "model."
                      : model.model_type == "bert"       ? "bert."
                      : model.model_type == "distilbert" ? "distilbert."
                      : model.model_type == "electra"    ? "electra."
                                                         : "roberta.";
  model.vocab_size = config.at("vocab_size").get<std::int64_t>();
  model.max_position_embeddings = config.at("max_position_embeddings").get<std::int64_t>();
  model.norm = proto::NormKind::kLayer;
  model.embedding_norm = true;
  model.bidirectional = true;
  if (model.model_type == "modernbert") {
    ReadModernBert(config, model);
  } else {
    ReadBert(config, model);
  }
  model.num_key_value_heads = model.num_attention_heads;
  model.head_dim = model.hidden_size / model.num_attention_heads;
  if (model.architecture.ends_with("ForSequenceClassification")) {
    model.num_labels = config.contains("id2label") && !config.at("id2label").is_null()
                           ? static_cast<std::int64_t>(config.at("id2label").size())
                           : 2;
  }
  model.read_head = ReadHeadOf(config, model);
  return model;
}

}  // namespace scorecast::reference
