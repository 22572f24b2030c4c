#include "tests/reference/random_checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace scorecast::reference {
namespace {

using nlohmann::json;
using proto::ModelConfig;

struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::string bytes;
};

// Standard distributions differ between libraries; the engine does not.
double Uniform(std::mt19937_64& engine) {
  return (static_cast<double>(engine() >> 11) + 0.5) * 0x1.0p-53;
}

double Normal(std::mt19937_64& engine) {
  const double radius = std::sqrt(-2 * std::log(Uniform(engine)));
  return radius * std::cos(2 * std::numbers::pi * Uniform(engine));
}

template <typename T>
void Append(std::string& bytes, T value) {
  static_assert(std::endian::native == std::endian::little);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void AppendValue(std::string& bytes, double value, StoredDtype dtype) {
  const auto single = static_cast<float>(value);
  if (dtype == StoredDtype::kF32) {
    Append(bytes, single);
    return;
  }
  const auto bits = std::bit_cast<std::uint32_t>(single);
  const std::uint32_t to_nearest_even = 0x7fff + ((bits >> 16) & 1);
  Append(bytes, static_cast<std::uint16_t>((bits + to_nearest_even) >> 16));
}

class RandomTensors {
 public:
  explicit RandomTensors(const RandomCheckpoint& checkpoint)
      : dtype_(checkpoint.dtype),
        engine_(checkpoint.seed),
        subtracted_(checkpoint.config.norm_weights_plus_one ? 1 : 0) {}

  /// Factors of the first channels; the other channels have 1.
  using Channels = std::vector<double>;

  void Norm(const std::string& name, std::int64_t size, const Channels& channels = {}) {
    Add(
        name + ".weight", {size}, channels, [](double noise) { return 1 + 0.2 * noise; },
        subtracted_);
  }

  void Matrix(const std::string& name, std::int64_t out, std::int64_t in, double gain,
              const Channels& channels = {}) {
    const double scale = gain / std::sqrt(static_cast<double>(in));
    Add(name + ".weight", {out, in}, channels, [&](double noise) { return noise * scale; });
  }

  void Bias(const std::string& name, std::int64_t size) {
    Add(name + ".bias", {size}, {}, [](double noise) { return 0.3 * noise; });
  }

  std::map<std::string, StoredTensor> Take() && { return std::move(tensors_); }

 private:
  template <typename FromNoise>
  void Add(const std::string& name, std::vector<std::int64_t> shape, const Channels& channels,
           FromNoise from_noise, double subtracted = 0) {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape) {
      size *= extent;
    }
    StoredTensor tensor{std::move(shape), {}};
    for (std::int64_t i = 0; i < size; ++i) {
      const auto channel = static_cast<std::size_t>(i % tensor.shape.back());
      const double factor = channel < channels.size() ? channels[channel] : 1.0;
      AppendValue(tensor.bytes, from_noise(Normal(engine_)) * factor - subtracted, dtype_);
    }
    tensors_.emplace(name, std::move(tensor));
  }

  StoredDtype dtype_;
  std::mt19937_64 engine_;
  double subtracted_;  // From the multipliers of norms, because the model adds it.
  std::map<std::string, StoredTensor> tensors_;
};

std::map<std::string, StoredTensor> MakeTensors(const RandomCheckpoint& checkpoint) {
  const ModelConfig& c = checkpoint.config;
  const std::int64_t q_size = c.num_attention_heads * c.head_dim;
  const std::int64_t kv_size = c.num_key_value_heads * c.head_dim;
  const double outliers = checkpoint.outliers;
  const RandomTensors::Channels readers = {1 / outliers, 1 / outliers};
  RandomTensors tensors(checkpoint);
  tensors.Matrix("model.embed_tokens", c.vocab_size, c.hidden_size, 2.5, {1, outliers});
  for (std::size_t index = 0; index < c.layers.size(); ++index) {
    const proto::LayerConfig& options = c.layers[index];
    const std::string layer = "model.layers." + std::to_string(index) + ".";
    const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, double gain,
                            bool bias, const RandomTensors::Channels& channels = {}) {
      tensors.Matrix(layer + name, out, in, gain, channels);
      if (bias) {
        tensors.Bias(layer + name, out);
      }
    };
    tensors.Norm(layer + "input_layernorm", c.hidden_size, {outliers});
    linear("self_attn.q_proj", q_size, c.hidden_size, 2.0, c.attention_bias, readers);
    linear("self_attn.k_proj", kv_size, c.hidden_size, 2.0, c.attention_bias, readers);
    linear("self_attn.v_proj", kv_size, c.hidden_size, 1.0, c.attention_bias, readers);
    linear("self_attn.o_proj", c.hidden_size, q_size, 1.0, c.attention_output_bias);
    if (options.qk_norm) {
      tensors.Norm(layer + "self_attn.q_norm", c.head_dim);
      tensors.Norm(layer + "self_attn.k_norm", c.head_dim);
    }
    if (options.post_attention_norm) {
      tensors.Norm(layer + "post_attention_layernorm", c.hidden_size);
      tensors.Norm(layer + "pre_feedforward_layernorm", c.hidden_size, {outliers});
    } else {
      tensors.Norm(layer + "post_attention_layernorm", c.hidden_size, {outliers});
    }
    linear("mlp.gate_proj", c.intermediate_size, c.hidden_size, 1.0, c.mlp_bias, readers);
    linear("mlp.up_proj", c.intermediate_size, c.hidden_size, 1.0, c.mlp_bias, readers);
    linear("mlp.down_proj", c.hidden_size, c.intermediate_size, 1.0, c.mlp_bias);
    if (options.post_feedforward_norm) {
      tensors.Norm(layer + "post_feedforward_layernorm", c.hidden_size);
    }
  }
  tensors.Norm("model.norm", c.hidden_size);
  if (c.is_classifier()) {
    tensors.Matrix("score", c.num_labels, c.hidden_size, 2.5, {1, 1 / outliers});
    if (checkpoint.head_bias) {
      tensors.Bias("score", c.num_labels);
    }
  } else if (!c.tie_word_embeddings) {
    tensors.Matrix("lm_head", c.vocab_size, c.hidden_size, 2.5, {1, 1 / outliers});
  }
  return std::move(tensors).Take();
}

json ToJson(const RandomCheckpoint& checkpoint) {
  const ModelConfig& c = checkpoint.config;
  const bool qwen2 = c.model_type == "qwen2";
  const proto::LayerConfig layer = {.qk_norm = c.model_type == "qwen3"};
  const bool expressible = (c.model_type == "llama" || c.model_type == "qwen3" || qwen2) &&
                           std::ranges::count(c.layers, layer) == std::ssize(c.layers) &&
                           c.rope_tables.size() == 1 && (c.model_type == "llama" || !c.mlp_bias) &&
                           (qwen2 ? c.attention_bias && !c.attention_output_bias
                                  : c.attention_bias == c.attention_output_bias);
  if (!expressible) {
    throw std::invalid_argument("no config.json of model_type " + c.model_type +
                                " expresses these options");
  }
  json config = {{"model_type", c.model_type},
                 {"hidden_act", "silu"},
                 {"hidden_size", c.hidden_size},
                 {"num_hidden_layers", c.num_hidden_layers()},
                 {"num_attention_heads", c.num_attention_heads},
                 {"num_key_value_heads", c.num_key_value_heads},
                 {"head_dim", c.head_dim},
                 {"intermediate_size", c.intermediate_size},
                 {"vocab_size", c.vocab_size},
                 {"max_position_embeddings", c.max_position_embeddings},
                 {"rms_norm_eps", c.norm_eps},
                 {"rope_theta", c.rope_tables[0].theta},
                 {"rope_scaling", nullptr},
                 {"tie_word_embeddings", c.tie_word_embeddings}};
  config["torch_dtype"] = checkpoint.dtype == StoredDtype::kF32 ? "float32" : "bfloat16";
  const std::string head = c.is_classifier() ? "ForSequenceClassification" : "ForCausalLM";
  for (std::int64_t label = 0; label < c.num_labels; ++label) {
    config["id2label"][std::to_string(label)] = "LABEL_" + std::to_string(label);
  }
  if (c.model_type == "llama") {
    config["architectures"] = {"Llama" + head};
    config["attention_bias"] = c.attention_bias;
    config["mlp_bias"] = c.mlp_bias;
  } else if (c.model_type == "qwen3") {
    config["architectures"] = {"Qwen3" + head};
    config["attention_bias"] = c.attention_bias;
    config["use_sliding_window"] = false;
  } else {
    config["architectures"] = {"Qwen2" + head};
    config["use_sliding_window"] = false;
  }
  if (c.bos_token_id) {
    config["bos_token_id"] = *c.bos_token_id;
  }
  if (!c.eos_token_ids.empty()) {
    config["eos_token_id"] = c.eos_token_ids;
  }
  return config;
}

void WriteFile(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

void WriteSafetensors(const std::filesystem::path& path,
                      const std::map<std::string, StoredTensor>& tensors, StoredDtype dtype) {
  json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    data += tensor.bytes;
    header[name] = {{"dtype", dtype == StoredDtype::kF32 ? "F32" : "BF16"},
                    {"shape", tensor.shape},
                    {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // The reference aligns the data to 8 bytes.
  std::string bytes;
  Append(bytes, static_cast<std::uint64_t>(text.size()));
  WriteFile(path, bytes + text + data);
}

std::string ShardName(int shard, int shards) {
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05d-of-%05d.safetensors", shard + 1, shards);
  return name;
}

}  // namespace

void WriteRandomCheckpoint(const std::filesystem::path& model_dir,
                           const RandomCheckpoint& checkpoint) {
  WriteFile(model_dir / "config.json", ToJson(checkpoint).dump(1));
  WriteRandomWeights(model_dir, checkpoint);
}

void WriteRandomWeights(const std::filesystem::path& model_dir,
                        const RandomCheckpoint& checkpoint) {
  const std::map<std::string, StoredTensor> tensors = MakeTensors(checkpoint);
  if (checkpoint.shards == 1) {
    WriteSafetensors(model_dir / "model.safetensors", tensors, checkpoint.dtype);
    return;
  }
  // Tensors are distributed round-robin, so that those of a layer are in different files.
  std::vector<std::map<std::string, StoredTensor>> parts(
      static_cast<std::size_t>(checkpoint.shards));
  json weight_map = json::object();
  std::size_t total_size = 0;
  int next = 0;
  for (const auto& [name, tensor] : tensors) {
    const int shard = next++ % checkpoint.shards;
    parts[static_cast<std::size_t>(shard)].emplace(name, tensor);
    weight_map[name] = ShardName(shard, checkpoint.shards);
    total_size += tensor.bytes.size();
  }
  for (int shard = 0; shard < checkpoint.shards; ++shard) {
    WriteSafetensors(model_dir / ShardName(shard, checkpoint.shards),
                     parts[static_cast<std::size_t>(shard)], checkpoint.dtype);
  }
  const json index = {{"metadata", {{"total_size", total_size}}}, {"weight_map", weight_map}};
  WriteFile(model_dir / "model.safetensors.index.json", index.dump(1));
}

ModelConfig TinyConfig(const std::string& model_type) {
  ModelConfig config;
  config.model_type = model_type;
  config.hidden_size = 48;
  config.layers.assign(2, {.qk_norm = model_type == "qwen3"});
  config.num_attention_heads = 6;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.intermediate_size = 80;
  config.vocab_size = 200;
  config.max_position_embeddings = 512;
  config.norm_eps = 1e-5;
  config.attention_bias = model_type == "qwen2";
  if (model_type == "mistral") {
    for (proto::LayerConfig& layer : config.layers) {
      layer.sliding_window = 24;
    }
  }
  if (model_type.starts_with("gemma")) {
    config.norm_weights_plus_one = true;
    config.hidden_activation = proto::Activation::kGeluTanh;
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  }
  if (model_type == "gemma2" || model_type == "gemma3_text") {
    config.query_scale = 1 / std::sqrt(11.0);
    config.layers[0].sliding_window = 24;
    for (proto::LayerConfig& layer : config.layers) {
      layer.post_attention_norm = true;
      layer.post_feedforward_norm = true;
    }
  }
  if (model_type == "gemma2") {
    config.attn_logit_softcapping = 5;
    config.final_logit_softcapping = 6;
  }
  if (model_type == "gemma3_text") {
    config.rope_tables = {{.theta = 1e6}, {.theta = 1e4}};
    config.layers[0].rope_table = 1;
    for (proto::LayerConfig& layer : config.layers) {
      layer.qk_norm = true;
    }
  }
  return config;
}

std::vector<proto::TokenId> RandomTokens(std::uint64_t seed, std::size_t count,
                                         std::int64_t vocab_size, proto::TokenId avoid) {
  std::mt19937_64 engine(seed);
  std::vector<proto::TokenId> tokens;
  while (tokens.size() < count) {
    const auto token =
        static_cast<proto::TokenId>(engine() % static_cast<std::uint64_t>(vocab_size));
    if (token != avoid) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

}  // namespace scorecast::reference
