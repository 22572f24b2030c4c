#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace scorecast::reference {

/// A tensor of a checkpoint, row-major.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Reads every tensor of a Hugging Face model directory, by name, from model.safetensors or from
/// the shards that model.safetensors.index.json names. F32, F16 and BF16 are read exactly. Throws
/// std::runtime_error for what it cannot read; it does not guard against hostile files.
std::map<std::string, Tensor> ReadCheckpoint(const std::filesystem::path& model_dir);

}  // namespace scorecast::reference
