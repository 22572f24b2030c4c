#include "coordinator/endpoints/generation_fields.h"

#include <cstddef>
#include <utility>

#include "coordinator/endpoints/adjustment_fields.h"
#include "coordinator/generate/seed.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

// Bounded, because every generated token is compared with all stop strings and stop tokens.
constexpr std::size_t kMaxStopStrings = 16;
constexpr std::size_t kMaxStopTokenIds = 1024;
/// A lower temperature would change next to nothing, and logits divided by it could leave the range
/// of float32.
constexpr double kMinTemperature = 0.01;
constexpr double kMaxTemperature = 100;
constexpr double kMinChunkScale = 1e-6;
constexpr double kMaxChunkScale = 1e6;

std::optional<Error> SamplingFault(const GenerationFields& fields) {
  const double temperature = fields.temperature;
  if (!(temperature >= 0 && temperature <= kMaxTemperature)) {
    return OutOfRange("temperature", "from 0 (greedy) to 100");
  }
  if (!(fields.top_p > 0 && fields.top_p <= 1)) {
    return OutOfRange("top_p", "greater than 0 and at most 1");
  }
  if (fields.top_k < -1) {
    return OutOfRange("top_k",
                      "0 or -1 (all) or a number of tokens, not " + std::to_string(fields.top_k));
  }
  if (!(fields.min_p >= 0 && fields.min_p <= 1)) {
    return OutOfRange("min_p", "from 0 to 1");
  }
  return std::nullopt;
}

Error TooManyStops(const std::string& what, std::size_t count, std::size_t limit,
                   const std::string& field) {
  return BadRequest(
      "too_many_stops",
      "Too many stop " + what + ": " + std::to_string(count) + " > " + std::to_string(limit) + ".",
      field);
}

std::optional<Error> StopFault(const GenerationFields& fields, const RequestContext& context) {
  const std::vector<std::string_view>& stop = fields.stop;
  if (stop.size() > kMaxStopStrings) {
    return TooManyStops("strings", stop.size(), kMaxStopStrings, "stop");
  }
  if (fields.stop_token_ids.size() > kMaxStopTokenIds) {
    return TooManyStops("token ids", fields.stop_token_ids.size(), kMaxStopTokenIds,
                        "stop_token_ids");
  }
  for (std::size_t i = 0; i < stop.size(); ++i) {
    if (auto fault = SoughtTextFault(stop[i], {"stop", "stop string"}, At("stop", i))) {
      return fault;
    }
  }
  if (!stop.empty() && context.tokenizer == nullptr) {
    return NoTokenizer("stop");
  }
  return VocabularyFault(fields.stop_token_ids, "stop_token_ids", context.config.vocab_size);
}

}  // namespace

std::optional<Error> SoughtTextFault(std::string_view text, const SoughtText& kind,
                                     const std::string& field) {
  constexpr std::size_t kMaxBytes = 256;
  if (text.empty()) {
    return BadRequest("empty_" + kind.reason, "A " + kind.name + " must not be empty.", field);
  }
  if (text.size() > kMaxBytes) {
    return BadRequest(
        kind.reason + "_too_long",
        field + " is too long: " +
            Exceeds(static_cast<std::int64_t>(text.size()), static_cast<std::int64_t>(kMaxBytes)) +
            " bytes.",
        field);
  }
  return IsValidUtf8(text) ? std::nullopt : std::optional(InvalidUtf8(field));
}

Error OutOfRange(const std::string& field, const std::string& range) {
  return BadRequest(field + "_out_of_range", field + " must be " + range + ".", field);
}

/// Attention computes in float32. Beyond these limits its scores, or the weights of keys, could
/// leave that range.
std::optional<Error> WeightingFault(const GenerationFields& fields) {
  const double temperature = fields.chunk_temperature;
  if (!(temperature >= kMinTemperature && temperature <= kMaxTemperature)) {
    return OutOfRange("chunk_temperature", "from 0.01 to 100");
  }
  if (!(fields.chunk_scale >= kMinChunkScale && fields.chunk_scale <= kMaxChunkScale)) {
    return OutOfRange("chunk_scale", "from 1e-6 to 1e6");
  }
  return std::nullopt;
}

std::optional<Error> GenerationFault(const GenerationFields& fields, std::int64_t least_tokens,
                                     const RequestContext& context) {
  const std::int64_t positions = context.config.max_position_embeddings;
  if (fields.max_new_tokens < least_tokens || fields.max_new_tokens > positions) {
    return OutOfRange(fields.max_field, "from " + std::to_string(least_tokens) +
                                            " to the model's " +
                                            proto::Count(positions, "position") + ", not " +
                                            std::to_string(fields.max_new_tokens));
  }
  if (context.config.is_classifier() && fields.generates()) {
    return NotForClassifiers(fields.max_field);
  }
  if (auto fault = SamplingFault(fields)) {
    return fault;
  }
  if (auto fault = AdjustmentFault(fields)) {
    return fault;
  }
  return StopFault(fields, context);
}

proto::BlockWeighting WeightingOf(const GenerationFields& fields) {
  return {static_cast<float>(fields.chunk_temperature), static_cast<float>(fields.chunk_scale)};
}

Expected<ChunkPositionStrategy> PositionStrategy(const GenerationFields& fields,
                                                 const ChunkOptions& options) {
  if (!fields.chunk_position_strategy) {
    return options.position_strategy;
  }
  if (*fields.chunk_position_strategy == "shared") {
    return ChunkPositionStrategy::kShared;
  }
  if (*fields.chunk_position_strategy == "offset") {
    return ChunkPositionStrategy::kOffset;
  }
  return Unexpected(BadRequest("unknown_position_strategy",
                               "chunk_position_strategy must be \"shared\" or \"offset\", not " +
                                   Quoted(std::string(*fields.chunk_position_strategy)) + ".",
                               "chunk_position_strategy"));
}

Expected<CompletionOptions> CompletionOptionsOf(const GenerationFields& fields,
                                                std::optional<std::uint64_t> given,
                                                std::optional<std::uint64_t> fallback,
                                                const RequestContext& context) {
  const std::vector<TokenId>& eos_ids = context.config.eos_token_ids;
  CompletionOptions options;
  options.max_new_tokens = fields.max_new_tokens;
  options.sampling = {.temperature = fields.temperature,
                      .top_p = fields.top_p,
                      .top_k = fields.top_k,
                      .min_p = fields.min_p,
                      .seed = given};
  if (!given && fields.generates() && !options.sampling.is_greedy()) {
    options.sampling.seed = fallback ? *fallback : DrawSeed();
  }
  options.stop = std::vector<std::string>(fields.stop.begin(), fields.stop.end());
  std::vector<TokenId> stop_ids(fields.stop_token_ids.begin(), fields.stop_token_ids.end());
  if (!fields.ignore_eos) {
    stop_ids.insert(stop_ids.end(), eos_ids.begin(), eos_ids.end());
  }
  options.stop_token_ids = std::move(stop_ids);
  options.shows_stop = fields.shows_stop;
  if (fields.generates()) {
    Expected<TokenAdjustments> adjustments = AdjustmentsOf(fields, context);
    if (!adjustments) {
      return Unexpected(std::move(adjustments).error());
    }
    options.adjustments = *std::move(adjustments);
  }
  return options;
}

}  // namespace scorecast::coordinator
