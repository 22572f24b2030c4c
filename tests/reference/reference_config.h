#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "proto/model/model_config.h"

namespace scorecast::reference {

/// `rope_scaling` of config.json. Each type uses the fields that transformers' rope_utils uses.
struct RopeScaling {
  std::string rope_type = "default";  ///< "default", "linear", "llama3" or "yarn".
  double factor = 1.0;
  double low_freq_factor = 1.0;   ///< llama3
  double high_freq_factor = 1.0;  ///< llama3
  double original_max_position_embeddings = 0;
};

/// All that the oracle needs to know of a family.
struct ReferenceConfig {
  proto::ModelConfig model;
  RopeScaling rope_scaling;
};

/// Reads config.json of a Hugging Face directory, independently of production: families llama,
/// mistral, qwen2 and qwen3. Throws std::runtime_error for anything else.
ReferenceConfig ReadReferenceConfig(const std::filesystem::path& model_dir);

}  // namespace scorecast::reference
