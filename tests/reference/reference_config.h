#pragma once

#include <filesystem>

#include "proto/model/model_config.h"

namespace scorecast::reference {

/// Reads config.json of a Hugging Face model directory, independently of production code: both
/// spellings of RoPE, and every field that transformers writes. Supports the families llama,
/// mistral, qwen2, qwen3, gemma, gemma2 and gemma3, and the encoders; throws std::runtime_error for
/// anything else.
proto::ModelConfig ReadReferenceConfig(const std::filesystem::path& model_dir);

}  // namespace scorecast::reference
