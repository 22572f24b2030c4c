#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace scorecast::reference {

/// Row-major, as a checkpoint has it.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Every tensor of a Hugging Face directory by its name, from model.safetensors or from the shards
/// that model.safetensors.index.json names. F32, F16 and BF16 are read, all of them exactly. Throws
/// std::runtime_error for what it cannot read; hostile files are not its business.
std::map<std::string, Tensor> ReadCheckpoint(const std::filesystem::path& model_dir);

}  // namespace scorecast::reference
