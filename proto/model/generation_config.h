#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/model/ignored_key.h"
#include "proto/model/token_id.h"

namespace scorecast::proto {

/// How completions are sampled if a request does not say so, as far as a model directory's
/// generation_config.json does. All values are in the ranges of requests.
struct GenerationConfig {
  /// A key of the file that cannot be followed. A completion that needs it is refused.
  struct Unsupported {
    std::string key;            ///< "num_beams"
    std::string value;          ///< Shown in messages: "4".
    std::string why;            ///< "beam search is not supported"
    std::string request_field;  ///< The field of requests that counts instead; may be empty.
    bool is_of_draws = false;   ///< Only completions whose tokens are drawn need it.

    /// "num_beams is 4: beam search is not supported"
    std::string Text() const { return key + " is " + value + ": " + why; }

    bool operator==(const Unsupported&) const = default;
  };

  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::int64_t> top_k;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<std::int64_t> max_new_tokens;
  std::vector<Unsupported> unsupported;

  bool operator==(const GenerationConfig&) const = default;
};

/// Reads `model_dir`/generation_config.json; nothing is set if there is no such file. Throws
/// StartupError, one line that names the file, if the file cannot be read or is no JSON object.
/// Values that are not supported, of a wrong type or out of range are `unsupported`, unless their
/// keys are `ignored`.
GenerationConfig LoadGenerationConfig(const std::filesystem::path& model_dir,
                                      std::span<const IgnoredKey> ignored = {});

/// The ids of EOS in the file, without those that are no tokens of the vocabulary: they end no
/// completion. Throws StartupError as LoadGenerationConfig does.
std::vector<TokenId> EosIdsOfGenerationConfig(const std::filesystem::path& model_dir,
                                              std::int64_t vocab_size);

/// "temperature 0.6, top_p 0.9"; empty if nothing is set.
std::string Describe(const GenerationConfig& config);

}  // namespace scorecast::proto
