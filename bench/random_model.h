#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace scorecast::bench {

/// A model's shape. Weights are random, because speed does not depend on them.
struct Shape {
  std::string name;
  std::int64_t hidden_size;
  std::int64_t num_hidden_layers;
  std::int64_t num_attention_heads;
  std::int64_t num_key_value_heads;
  std::int64_t head_dim;
  std::int64_t intermediate_size;
  std::int64_t vocab_size;
};

/// The values of --shape.
const std::vector<Shape>& Shapes();

/// Writes a Hugging Face directory with weights in BF16, unless `dir` has one already.
void WriteRandomModel(const Shape& shape, const std::filesystem::path& dir);

/// --shape and --models: the random model and its directory.
struct ModelFlags {
  std::string shape_name;
  std::filesystem::path root;

  const Shape& shape() const;
  std::filesystem::path dir() const { return root / shape_name; }
};

/// The default shape is that of `flags`.
void AddModelFlags(CLI::App& app, ModelFlags& flags);

}  // namespace scorecast::bench
