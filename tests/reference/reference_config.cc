#include "tests/reference/reference_config.h"

#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/reference/reference_encoder_config.h"

namespace scorecast::reference {
namespace {

using nlohmann::json;
using proto::ModelConfig;
using proto::RopeConfig;
using proto::RopeType;

bool IsSet(const json& config, const char* field) {
  return config.contains(field) && !config.at(field).is_null();
}

template <typename T>
T ValueOr(const json& config, const char* field, T fallback) {
  return IsSet(config, field) ? config.at(field).get<T>() : fallback;
}

/// `scaling`: rope_scaling, or the rope_parameters of one kind of layer.
RopeConfig ReadRope(const json& scaling, double theta) {
  RopeConfig rope;
  rope.theta = theta;
  const auto type = scaling.at("rope_type").get<std::string>();
  if (type == "default") {
    return rope;
  }
  rope.factor = scaling.at("factor").get<double>();
  rope.original_max_position_embeddings =
      ValueOr(scaling, "original_max_position_embeddings", std::int64_t{0});
  if (type == "linear") {
    rope.type = RopeType::kLinear;
  } else if (type == "llama3") {
    rope.type = RopeType::kLlama3;
    rope.low_freq_factor = scaling.at("low_freq_factor").get<double>();
    rope.high_freq_factor = scaling.at("high_freq_factor").get<double>();
  } else if (type == "yarn") {
    rope.type = RopeType::kYarn;
    rope.beta_fast = ValueOr(scaling, "beta_fast", 32.0);
    rope.beta_slow = ValueOr(scaling, "beta_slow", 1.0);
    rope.truncate = ValueOr(scaling, "truncate", true);
    const auto of_scale = [&](double mscale) { return 0.1 * mscale * std::log(rope.factor) + 1; };
    const double mscale = ValueOr(scaling, "mscale", 0.0);
    const double mscale_all_dim = ValueOr(scaling, "mscale_all_dim", 0.0);
    rope.attention_factor = mscale != 0 && mscale_all_dim != 0
                                ? of_scale(mscale) / of_scale(mscale_all_dim)
                                : of_scale(1);
    rope.attention_factor = ValueOr(scaling, "attention_factor", rope.attention_factor);
  } else {
    throw std::runtime_error("the oracle does not know rope_type " + type);
  }
  return rope;
}

/// One table, or that of layers with full attention and then that of layers with windows.
std::vector<RopeConfig> ReadRopeTables(const json& config) {
  const json plain = {{"rope_type", "default"}};
  if (!IsSet(config, "rope_parameters")) {
    std::vector<RopeConfig> tables = {
        ReadRope(IsSet(config, "rope_scaling") ? config.at("rope_scaling") : plain,
                 config.at("rope_theta").get<double>())};
    if (IsSet(config, "rope_local_base_freq")) {
      tables.push_back(ReadRope(plain, config.at("rope_local_base_freq").get<double>()));
    }
    return tables;
  }
  const auto read = [](const json& rope) {
    return ReadRope(rope, rope.at("rope_theta").get<double>());
  };
  const json& parameters = config.at("rope_parameters");
  if (!parameters.contains("full_attention")) {
    return {read(parameters)};
  }
  return {read(parameters.at("full_attention")), read(parameters.at("sliding_attention"))};
}

/// Whether each layer has the window.
std::vector<bool> LayersWithWindow(const json& config, const ModelConfig& model) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  std::vector<bool> windows;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    bool has_window = false;
    if (!IsSet(config, "sliding_window") || !ValueOr(config, "use_sliding_window", true)) {
      has_window = false;  // Qwen's configurations contain a window that is switched off.
    } else if (IsSet(config, "layer_types")) {
      has_window =
          config.at("layer_types").at(static_cast<std::size_t>(layer)) == "sliding_attention";
    } else if (model.model_type == "mistral") {
      has_window = true;
    } else if (model.model_type == "gemma2") {
      has_window = layer % 2 == 0;
    } else if (model.model_type == "gemma3_text") {
      const std::int64_t pattern =
          ValueOr(config, "sliding_window_pattern",
                  ValueOr(config, "_sliding_window_pattern", std::int64_t{6}));
      has_window = (layer + 1) % pattern != 0;
    } else if (model.model_type == "qwen2" || model.model_type == "qwen3") {
      has_window = layer >= config.at("max_window_layers").get<std::int64_t>();
    }
    windows.push_back(has_window);
  }
  return windows;
}

void ReadGemma(const json& config, ModelConfig& model) {
  const bool is_first = model.model_type == "gemma";
  model.norm_weights_plus_one = true;
  model.hidden_activation = proto::Activation::kGeluTanh;
  model.embedding_scale = std::sqrt(static_cast<double>(model.hidden_size));
  model.attention_bias = ValueOr(config, "attention_bias", false);
  model.attention_output_bias = model.attention_bias;
  const std::string activation =
      config.at(is_first ? "hidden_act" : "hidden_activation").get<std::string>();
  if (activation != "gelu_pytorch_tanh" && !(is_first && activation == "gelu")) {
    throw std::runtime_error("the oracle does not know the activation " + activation);
  }
  if (is_first) {
    return;
  }
  model.query_scale = 1 / std::sqrt(config.at("query_pre_attn_scalar").get<double>());
  if (model.model_type == "gemma2" && IsSet(config, "attn_logit_softcapping")) {
    model.attn_logit_softcapping = config.at("attn_logit_softcapping").get<double>();
  }
  if (IsSet(config, "final_logit_softcapping")) {
    model.final_logit_softcapping = config.at("final_logit_softcapping").get<double>();
  }
  for (proto::LayerConfig& layer : model.layers) {
    layer.post_attention_norm = true;
    layer.post_feedforward_norm = true;
    layer.qk_norm = model.model_type == "gemma3_text";
  }
}

}  // namespace

ModelConfig ReadReferenceConfig(const std::filesystem::path& model_dir) {
  std::ifstream file(model_dir / "config.json");
  if (!file) {
    throw std::runtime_error("cannot read " + (model_dir / "config.json").string());
  }
  const json config = json::parse(file);
  if (IsEncoder(config)) {
    return ReadEncoderConfig(config);
  }

  ModelConfig model;
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
  model.norm_eps = config.at("rms_norm_eps").get<double>();
  model.rope_tables = ReadRopeTables(config);
  model.tie_word_embeddings = config.at("tie_word_embeddings").get<bool>();
  model.dtype =
      config.at(config.contains("torch_dtype") ? "torch_dtype" : "dtype").get<std::string>();

  if (model.model_type.starts_with("gemma")) {
    ReadGemma(config, model);
  } else if (config.at("hidden_act") != "silu") {
    throw std::runtime_error("the oracle does not know this hidden_act");
  } else if (model.model_type == "llama" || model.model_type == "qwen3") {
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
  if (model.architecture.ends_with("ForSequenceClassification")) {
    model.num_labels = static_cast<std::int64_t>(config.at("id2label").size());
    model.final_logit_softcapping.reset();
  }
  const std::vector<bool> has_window = LayersWithWindow(config, model);
  for (std::size_t layer = 0; layer < has_window.size(); ++layer) {
    if (has_window[layer]) {
      model.layers[layer].sliding_window = config.at("sliding_window").get<std::int64_t>();
      model.layers[layer].rope_table = model.rope_tables.size() - 1;
    }
  }
  return model;
}

}  // namespace scorecast::reference
