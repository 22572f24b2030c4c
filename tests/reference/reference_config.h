#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "proto/model/model_config.h"

namespace scorecast::reference {

/// `rope_scaling` of config.json. Each type uses the fields that transformers' rope_utils use for
/// it.
struct RopeScaling {
  std::string rope_type = "default";  ///< "default", "linear", "llama3" or "yarn".
  double factor = 1.0;
  double low_freq_factor = 1.0;   ///< llama3
  double high_freq_factor = 1.0;  ///< llama3
  double original_max_position_embeddings = 0;
};

/// The part of a model's configuration that the oracle needs.
struct ReferenceConfig {
  proto::ModelConfig model;
  RopeScaling rope_scaling;
};

/// Reads config.json of a Hugging Face model directory, independently of production code. Supports
/// the families llama, mistral, qwen2 and qwen3; throws std::runtime_error for anything else.
ReferenceConfig ReadReferenceConfig(const std::filesystem::path& model_dir);

}  // namespace scorecast::reference
