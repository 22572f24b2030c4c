#include "coordinator/endpoints/chunked/chunked_checks.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "coordinator/endpoints/text_or_ids.h"
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
constexpr std::size_t kMaxStopBytes = 256;
constexpr std::size_t kMaxStopTokenIds = 1024;
/// A lower temperature would change next to nothing, and logits divided by it could leave the range
/// of float32.
constexpr double kMinTemperature = 0.01;
constexpr double kMaxTemperature = 100;
constexpr double kMinChunkScale = 1e-6;
constexpr double kMaxChunkScale = 1e6;

Error OutOfRange(const std::string& field, const std::string& range) {
  return BadRequest(field + "_out_of_range", field + " must be " + range + ".", field);
}

/// A request must have exactly one form of prompt: `prompt`, or parts with a question.
std::optional<Error> FormFault(const ChunkedRequest& request) {
  const v1::ChunkedRequest& message = request.message;
  const bool has_questions = HasList(request, v1::ChunkedRequest::kQuestionsFieldNumber);
  if (!message.has_prompt()) {
    if (message.has_question() && has_questions) {
      return BadRequest("question_given_twice", "Only one of question and questions may be given.",
                        "questions");
    }
    if (!message.has_question() && !has_questions) {
      return BadRequest("missing_field", "question must be provided.", "question");
    }
    return std::nullopt;
  }
  const std::array<std::pair<const char*, bool>, 4> parts = {
      {{"system_prompt", message.has_system_prompt()},
       {"chunks", HasList(request, v1::ChunkedRequest::kChunksFieldNumber)},
       {"question", message.has_question()},
       {"questions", has_questions}}};
  for (const auto& [field, is_given] : parts) {
    if (is_given) {
      return BadRequest("prompt_given_twice",
                        "prompt replaces system_prompt, chunks and question: " +
                            std::string(field) + " must not be given as well.",
                        field);
    }
  }
  return std::nullopt;
}

/// Attention computes in float32. Beyond these limits its scores, or the weights of keys, could
/// leave that range.
std::optional<Error> WeightingFault(const v1::ChunkedRequest& request) {
  const double temperature = request.chunk_temperature();
  if (!(temperature >= kMinTemperature && temperature <= kMaxTemperature)) {
    return OutOfRange("chunk_temperature", "from 0.01 to 100");
  }
  if (!(request.chunk_scale() >= kMinChunkScale && request.chunk_scale() <= kMaxChunkScale)) {
    return OutOfRange("chunk_scale", "from 1e-6 to 1e6");
  }
  return std::nullopt;
}

std::optional<Error> SamplingFault(const v1::ChunkedRequest& request) {
  const double temperature = request.temperature();
  if (!(temperature >= 0 && temperature <= kMaxTemperature)) {
    return OutOfRange("temperature", "from 0 (greedy) to 100");
  }
  if (!(request.top_p() > 0 && request.top_p() <= 1)) {
    return OutOfRange("top_p", "greater than 0 and at most 1");
  }
  if (request.top_k() < 0) {
    return OutOfRange("top_k",
                      "0 (all) or a number of tokens, not " + std::to_string(request.top_k()));
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

std::optional<Error> StopFault(const v1::ChunkedRequest& request, const RequestContext& context) {
  const std::vector<std::string_view> stop = ViewsOf(request.stop());
  if (stop.size() > kMaxStopStrings) {
    return TooManyStops("strings", stop.size(), kMaxStopStrings, "stop");
  }
  if (SizeOf(request.stop_token_ids()) > kMaxStopTokenIds) {
    return TooManyStops("token ids", SizeOf(request.stop_token_ids()), kMaxStopTokenIds,
                        "stop_token_ids");
  }
  for (std::size_t i = 0; i < stop.size(); ++i) {
    if (stop[i].empty()) {
      return BadRequest("empty_stop", "A stop string must not be empty.", At("stop", i));
    }
    if (stop[i].size() > kMaxStopBytes) {
      return BadRequest("stop_too_long",
                        At("stop", i) + " is too long: " +
                            Exceeds(static_cast<std::int64_t>(stop[i].size()),
                                    static_cast<std::int64_t>(kMaxStopBytes)) +
                            " bytes.",
                        At("stop", i));
    }
    if (!IsValidUtf8(stop[i])) {
      return InvalidUtf8(At("stop", i));
    }
  }
  if (!stop.empty() && context.tokenizer == nullptr) {
    return NoTokenizer("stop");
  }
  return VocabularyFault(ViewOf(request.stop_token_ids()), "stop_token_ids",
                         context.config.vocab_size);
}

}  // namespace

std::optional<Error> ChunkedFieldFault(const ChunkedRequest& own, ScoreKind kind,
                                       const RequestContext& context) {
  const v1::ChunkedRequest& request = own.message;
  if (auto fault = FormFault(own)) {
    return fault;
  }
  if (auto fault = WeightingFault(request)) {
    return fault;
  }
  if (auto fault =
          SoftmaxTemperatureFault(request.label_temperature(), kind, "label_temperature")) {
    return fault;
  }
  if (auto fault =
          LogprobsFault(request.return_token_logprobs(), request.top_logprobs(), context.config)) {
    return fault;
  }
  if (auto fault = OptionsFault(own)) {
    return fault;
  }
  const std::int64_t positions = context.config.max_position_embeddings;
  if (request.max_new_tokens() < 0 || request.max_new_tokens() > positions) {
    return OutOfRange("max_new_tokens", "from 0 to the model's " +
                                            proto::Count(positions, "position") + ", not " +
                                            std::to_string(request.max_new_tokens()));
  }
  if (context.config.is_classifier() && request.max_new_tokens() > 0) {
    return NotForClassifiers("max_new_tokens");
  }
  if (auto fault = SamplingFault(request)) {
    return fault;
  }
  return StopFault(request, context);
}

Expected<ChunkPositionStrategy> PositionStrategy(const v1::ChunkedRequest& request,
                                                 const ChunkOptions& options) {
  if (!request.has_chunk_position_strategy()) {
    return options.position_strategy;
  }
  if (request.chunk_position_strategy() == "shared") {
    return ChunkPositionStrategy::kShared;
  }
  if (request.chunk_position_strategy() == "offset") {
    return ChunkPositionStrategy::kOffset;
  }
  return Unexpected(BadRequest("unknown_position_strategy",
                               "chunk_position_strategy must be \"shared\" or \"offset\", not " +
                                   Quoted(request.chunk_position_strategy()) + ".",
                               "chunk_position_strategy"));
}

}  // namespace scorecast::coordinator
