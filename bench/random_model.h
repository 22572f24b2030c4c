#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace scorecast::bench {

/// A model's shape; its weights are random, since speed does not depend on them.
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

/// The shapes that --shape knows.
const std::vector<Shape>& Shapes();

/// Writes a Hugging Face directory of that shape with weights in BF16, unless `dir` has it already.
void WriteRandomModel(const Shape& shape, const std::filesystem::path& dir);

}  // namespace scorecast::bench
