#include "tests/reference/reference_config.h"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace scorecast::reference {
namespace {

using nlohmann::json;

bool IsSet(const json& config, const char* field) {
  return config.contains(field) && !config.at(field).is_null();
}

template <typename T>
T ValueOr(const json& config, const char* field, T fallback) {
  return IsSet(config, field) ? config.at(field).get<T>() : fallback;
}

RopeScaling ReadRopeScaling(const json& scaling) {
  RopeScaling rope;
  rope.rope_type = scaling.at("rope_type").get<std::string>();
  rope.factor = scaling.at("factor").get<double>();
  rope.low_freq_factor = ValueOr(scaling, "low_freq_factor", 1.0);
  rope.high_freq_factor = ValueOr(scaling, "high_freq_factor", 1.0);
  rope.original_max_position_embeddings = ValueOr(scaling, "original_max_position_embeddings", 0.0);
  return rope;
}

}  // namespace

ReferenceConfig ReadReferenceConfig(const std::filesystem::path& model_dir) {
  std::ifstream file(model_dir / "config.json");
  if (!file) {
    throw std::runtime_error("cannot read " + (model_dir / "config.json").string());
  }
  const json config = json::parse(file);

  ReferenceConfig result;
  proto::ModelConfig& model = result.model;
  model.architecture = config.at("architectures").at(0).get<std::string>();
  model.model_type = config.at("model_type").get<std::string>();
  model.hidden_size = config.at("hidden_size").get<std::int64_t>();
  model.layers.resize(config.at("num_hidden_layers").get<std::size_t>());
  model.num_attention_heads = config.at("num_attention_heads").get<std::int64_t>();
  model.num_key_value_heads = ValueOr(config, "num_key_value_heads", model.num_attention_heads);
  model.head_dim = ValueOr(config, "head_dim", model.hidden_size / model.num_attention_heads);
  model.intermediate_size = config.at("intermediate_size").get<std::int64_t>();
  model.vocab_size = config.at("vocab_size").get<std::int64_t>();
  model.max_position_embeddings = config.at("max_position_embeddings").get<std::int64_t>();
  model.rms_norm_eps = config.at("rms_norm_eps").get<double>();
  model.rope_tables = {{.theta = config.at("rope_theta").get<double>()}};
  model.tie_word_embeddings = config.at("tie_word_embeddings").get<bool>();
  model.dtype = config.at("torch_dtype").get<std::string>();

  if (model.model_type == "llama" || model.model_type == "qwen3") {
    model.attention_bias = ValueOr(config, "attention_bias", false);
    model.attention_output_bias = model.attention_bias;
    model.mlp_bias = ValueOr(config, "mlp_bias", false);
    for (proto::LayerConfig& layer : model.layers) {
      layer.qk_norm = model.model_type == "qwen3";
    }
  } else if (model.model_type == "qwen2") {
    model.attention_bias = true;
  } else if (model.model_type != "mistral") {
    throw std::runtime_error("the oracle does not know model_type " + model.model_type);
  }
  if (config.at("hidden_act") != "silu") {
    throw std::runtime_error("the oracle only knows hidden_act silu");
  }
  if (IsSet(config, "rope_scaling")) {
    result.rope_scaling = ReadRopeScaling(config.at("rope_scaling"));
  }
  // Qwen's configurations contain a window that is switched off.
  if (IsSet(config, "sliding_window") && ValueOr(config, "use_sliding_window", true)) {
    if (model.model_type != "mistral") {
      throw std::runtime_error(
          "the oracle only knows windows that apply to every layer, as in mistral");
    }
    for (proto::LayerConfig& layer : model.layers) {
      layer.sliding_window = config.at("sliding_window").get<std::int64_t>();
    }
  }
  return result;
}

}  // namespace scorecast::reference
