#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace scorecast::proto {

/// How completions are sampled if a request does not say so, as far as a model directory's
/// generation_config.json does. All values are in the ranges of requests.
struct GenerationConfig {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::int64_t> top_k;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<std::int64_t> max_new_tokens;

  bool operator==(const GenerationConfig&) const = default;
};

/// Reads `model_dir`/generation_config.json; nothing is set if there is no such file. Ids of EOS
/// are read by LoadModelConfig. Throws StartupError, one line that names the file and the field, if
/// the file cannot be read, is no JSON object, or if a value is of a wrong type or out of range.
GenerationConfig LoadGenerationConfig(const std::filesystem::path& model_dir);

/// "temperature 0.6, top_p 0.9"; empty if nothing is set.
std::string Describe(const GenerationConfig& config);

}  // namespace scorecast::proto
