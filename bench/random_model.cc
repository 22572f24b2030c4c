#include "bench/random_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace scorecast::bench {
namespace {

struct TensorShape {
  std::string name;
  std::vector<std::int64_t> shape;

  std::int64_t size() const {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) {
      n *= d;
    }
    return n;
  }
};

std::vector<TensorShape> Tensors(const Shape& s) {
  std::vector<TensorShape> tensors = {{"model.embed_tokens.weight", {s.vocab_size, s.hidden_size}}};
  const std::int64_t q = s.num_attention_heads * s.head_dim;
  const std::int64_t kv = s.num_key_value_heads * s.head_dim;
  for (std::int64_t i = 0; i < s.num_hidden_layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
      tensors.push_back({prefix + name + ".weight", std::move(shape)});
    };
    add("input_layernorm", {s.hidden_size});
    add("self_attn.q_proj", {q, s.hidden_size});
    add("self_attn.k_proj", {kv, s.hidden_size});
    add("self_attn.v_proj", {kv, s.hidden_size});
    add("self_attn.o_proj", {s.hidden_size, q});
    add("post_attention_layernorm", {s.hidden_size});
    add("mlp.gate_proj", {s.intermediate_size, s.hidden_size});
    add("mlp.up_proj", {s.intermediate_size, s.hidden_size});
    add("mlp.down_proj", {s.hidden_size, s.intermediate_size});
  }
  tensors.push_back({"model.norm.weight", {s.hidden_size}});
  return tensors;
}

nlohmann::json Config(const Shape& s) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", s.hidden_size},
          {"num_hidden_layers", s.num_hidden_layers},
          {"num_attention_heads", s.num_attention_heads},
          {"num_key_value_heads", s.num_key_value_heads},
          {"head_dim", s.head_dim},
          {"intermediate_size", s.intermediate_size},
          {"vocab_size", s.vocab_size},
          {"max_position_embeddings", 16384},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", true},
          {"hidden_act", "silu"},
          {"torch_dtype", "bfloat16"}};
}

/// Random numbers in [-scale, scale), in BF16.
class RandomBf16 {
 public:
  std::uint16_t Next(float scale) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const float number =
        static_cast<float>(static_cast<std::int32_t>(state_ >> 32U)) * 0x1p-31F * scale;
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16U);
  }

 private:
  std::uint64_t state_ = 1;
};

}  // namespace

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {
      {"0.01b", 256, 8, 4, 2, 64, 768, 32000},
      {"0.1b", 512, 12, 8, 4, 64, 1536, 32000},
      {"0.5b", 1024, 28, 16, 8, 64, 3072, 32000},
      {"qwen3-0.6b", 1024, 28, 16, 8, 128, 3072, 151936},
      {"llama3-1b", 2048, 16, 32, 8, 64, 8192, 128256},
  };
  return shapes;
}

void WriteRandomModel(const Shape& shape, const std::filesystem::path& dir) {
  // Written last, so that a directory with this file is complete.
  const std::filesystem::path config_path = dir / "config.json";
  if (std::filesystem::exists(config_path)) {
    return;
  }
  std::filesystem::create_directories(dir);
  nlohmann::json header;
  std::int64_t offset = 0;
  const std::vector<TensorShape> tensors = Tensors(shape);
  for (const TensorShape& tensor : tensors) {
    const std::int64_t end = offset + 2 * tensor.size();
    header[tensor.name] = {
        {"dtype", "BF16"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream file(dir / "model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  RandomBf16 random;
  std::vector<std::uint16_t> values;
  for (const TensorShape& tensor : tensors) {
    values.resize(static_cast<std::size_t>(tensor.size()));
    // The standard deviation is 0.02, Hugging Face's initializer_range. Norms scale by one.
    const bool is_norm = tensor.shape.size() == 1;
    const float scale = 0.02F * std::sqrt(3.0F);
    for (std::uint16_t& value : values) {
      value = is_norm ? std::uint16_t{0x3F80} : random.Next(scale);  // 0x3F80 is 1.
    }
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(values[0])));
  }
  if (!file.flush()) {
    throw std::runtime_error("cannot write " + (dir / "model.safetensors").string());
  }
  std::ofstream(config_path) << Config(shape).dump(1) << '\n';
}

const Shape& ModelFlags::shape() const {
  return *std::find_if(Shapes().begin(), Shapes().end(),
                       [this](const Shape& shape) { return shape.name == shape_name; });
}

void AddModelFlags(CLI::App& app, ModelFlags& flags) {
  std::vector<std::string> names;
  for (const Shape& shape : Shapes()) {
    names.push_back(shape.name);
  }
  app.add_option("--shape", flags.shape_name, "The model's shape; its weights are random")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--models", flags.root, "Directory to write the random models to")
      ->required()
      ->type_name("DIR");
}

}  // namespace scorecast::bench
