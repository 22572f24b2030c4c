#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/generate/completion_options.h"
#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/request/chunk_options.h"
#include "coordinator/request/request_context.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/model/generation_config.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Views of the fields that say how prompts are completed: see v1::GenerationOptions.
struct GenerationFields {
  std::int64_t max_new_tokens = 0;
  std::string max_field;  ///< Name of the field that has `max_new_tokens`.
  double temperature = 0;
  double top_p = 1;
  std::int64_t top_k = 0;
  double min_p = 0;
  double repetition_penalty = 1;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::pair<std::string_view, double>> logit_bias;  ///< The id of each token is text.
  std::vector<std::string_view> bad_words;
  std::int64_t min_tokens = 0;
  std::optional<std::span<const TokenId>> allowed_token_ids;
  std::vector<std::string_view> stop;
  std::span<const TokenId> stop_token_ids;
  bool ignore_eos = false;
  bool shows_stop = false;
  double chunk_temperature = 1;
  double chunk_scale = 1;
  std::optional<std::string_view> chunk_position_strategy;

  bool generates() const { return max_new_tokens > 0; }
};

/// Those of a message that has them, apart from `max_new_tokens` and the name of its field.
template <typename Message>
GenerationFields GenerationFieldsOf(const Message& message, std::int64_t max_new_tokens,
                                    std::string max_field) {
  GenerationFields fields{.max_new_tokens = max_new_tokens,
                          .max_field = std::move(max_field),
                          .temperature = message.temperature(),
                          .top_p = message.top_p(),
                          .top_k = message.top_k(),
                          .min_p = message.min_p(),
                          .repetition_penalty = message.repetition_penalty(),
                          .presence_penalty = message.presence_penalty(),
                          .frequency_penalty = message.frequency_penalty(),
                          .bad_words = ViewsOf(message.bad_words()),
                          .min_tokens = message.min_tokens(),
                          .stop = ViewsOf(message.stop()),
                          .stop_token_ids = ViewOf(message.stop_token_ids()),
                          .ignore_eos = message.ignore_eos(),
                          .shows_stop = message.include_stop_str_in_output(),
                          .chunk_temperature = message.chunk_temperature(),
                          .chunk_scale = message.chunk_scale()};
  for (const auto& bias : message.logit_bias()) {
    fields.logit_bias.emplace_back(bias.key(), bias.value());
  }
  if (message.has_allowed_token_ids()) {
    fields.allowed_token_ids = ViewOf(message.allowed_token_ids());
  }
  if (message.has_chunk_position_strategy()) {
    fields.chunk_position_strategy = message.chunk_position_strategy();
  }
  return fields;
}

/// Sets fields that a message does not give to the model's defaults, or to 1 (`temperature`,
/// `top_p`, `repetition_penalty`) and 0.
template <typename Message>
void SetDefaults(const Message& message, const proto::GenerationConfig& defaults,
                 GenerationFields& fields) {
  const auto set = [](bool is_given, const auto& own, auto fallback, auto& field) {
    field = is_given ? field : own.value_or(fallback);
  };
  set(message.has_temperature(), defaults.temperature, 1, fields.temperature);
  set(message.has_top_p(), defaults.top_p, 1, fields.top_p);
  set(message.has_top_k(), defaults.top_k, 0, fields.top_k);
  set(message.has_min_p(), defaults.min_p, 0, fields.min_p);
  set(message.has_repetition_penalty(), defaults.repetition_penalty, 1, fields.repetition_penalty);
}

/// The 400 of a field that must be `range`: "from 1 to 9, not 0".
proto::Error OutOfRange(const std::string& field, const std::string& range);

/// What faults call a text that is looked for in each completion.
struct SoughtText {
  std::string reason;  ///< A part of reasons: "stop".
  std::string name;    ///< "stop string".
};

/// The 400 of such a text if it is empty, longer than 256 bytes or no UTF-8.
std::optional<proto::Error> SoughtTextFault(std::string_view text, const SoughtText& kind,
                                            const std::string& field);

/// The 400 of a chunk_temperature or a chunk_scale out of range.
std::optional<proto::Error> WeightingFault(const GenerationFields& fields);

/// The 400 of another field out of range, or of stops that cannot be found. `least_tokens` is the
/// least value of `max_new_tokens`.
std::optional<proto::Error> GenerationFault(const GenerationFields& fields,
                                            std::int64_t least_tokens,
                                            const RequestContext& context);

proto::BlockWeighting WeightingOf(const GenerationFields& fields);

/// The strategy that the request names, or the server's if it names none. A 400 for an unknown
/// name.
proto::Expected<ChunkPositionStrategy> PositionStrategy(const GenerationFields& fields,
                                                        const ChunkOptions& options);

/// The options of a completion. The seed of `sampling` is `given` or, if that is absent and tokens
/// are drawn, `fallback` or a random one. It stays empty if it is not given and not needed. A 400
/// if tokens of biases, of words or those that are allowed do not exist, or if no token may be
/// chosen.
proto::Expected<CompletionOptions> CompletionOptionsOf(const GenerationFields& fields,
                                                       std::optional<std::uint64_t> given,
                                                       std::optional<std::uint64_t> fallback,
                                                       const RequestContext& context);

}  // namespace scorecast::coordinator
