#include "coordinator/request/request_checks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "coordinator/request/request_error.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {

using proto::Error;

namespace {

/// The error of a request for which nobody waits any more.
Error NobodyWaits() { return {503, "stopped", "Nobody waits for the response any more.", ""}; }

}  // namespace

std::string Exceeds(std::int64_t value, std::int64_t limit) {
  return std::to_string(value) + " > " + std::to_string(limit);
}

std::string MoreThan(std::int64_t limit) { return "more than " + std::to_string(limit); }

std::string FarExceeds(std::int64_t limit) {
  return "more than " + Exceeds(CountedTokens(limit), limit);
}

std::optional<Error> SoftmaxTemperatureFault(double temperature, ScoreKind kind,
                                             const std::string& field) {
  if (!std::isfinite(temperature) || temperature <= 0) {
    return BadRequest("temperature_out_of_range", field + " must be finite and greater than zero.",
                      field);
  }
  if (temperature != 1.0 && kind != ScoreKind::kSoftmax) {
    return BadRequest("temperature_without_softmax", field + " requires apply_softmax=True.",
                      field);
  }
  return std::nullopt;
}

std::optional<Error> LogprobsFault(bool return_token_logprobs, std::int64_t top_logprobs,
                                   const proto::ModelConfig& config) {
  if (config.is_classifier() && (return_token_logprobs || top_logprobs != 0)) {
    return NotForClassifiers(return_token_logprobs ? "return_token_logprobs" : "top_logprobs");
  }
  const std::int64_t most = std::min(kMaxTopLogprobs, config.vocab_size);
  if (top_logprobs >= 0 && top_logprobs <= most) {
    return std::nullopt;
  }
  return BadRequest("top_logprobs_out_of_range",
                    "top_logprobs must be from 0 to " + std::to_string(most) + ", not " +
                        std::to_string(top_logprobs) + ".",
                    "top_logprobs");
}

std::optional<Error> VocabularyFault(std::span<const TokenId> ids, const std::string& field,
                                     std::int64_t vocab_size) {
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocab_size) {
      return BadRequest("token_out_of_vocabulary",
                        "Token ID " + std::to_string(id) + " in " + field +
                            " is out of vocabulary (vocab size: " + std::to_string(vocab_size) +
                            ").",
                        field);
    }
  }
  return std::nullopt;
}

std::int64_t CountedTokens(std::int64_t limit) {
  constexpr std::int64_t kTimes = 4;
  constexpr std::int64_t kMore = 64;
  return kTimes * std::min(limit, EncodeLimits::kUnlimited / (2 * kTimes)) + kMore;
}

std::optional<Error> RepeatedTokens::Add(std::size_t tokens) {
  tokens_ += static_cast<std::int64_t>(tokens);
  if (tokens_ <= kMost) {
    return std::nullopt;
  }
  return Error{413, "too_many_tokens",
               "The prompts of " + field_ + " have more than " + proto::Count(kMost, "token") +
                   " together, what they repeat included.",
               field_};
}

Error EncodeError(EncodeFault fault, Error too_many_tokens, const std::string& field) {
  switch (fault) {
    case EncodeFault::kTooManyTokens:
      return too_many_tokens;
    case EncodeFault::kUncut:
      return BadRequest("uncut_text",
                        "A text of more than " + std::to_string(EncodeLimits::kMaxUncutBytes / 4) +
                            " bytes is tokenized in pieces, but " + field +
                            " has a longer part that the tokenizer cuts nowhere for certain.",
                        field);
    case EncodeFault::kStopped:
      break;
  }
  return NobodyWaits();
}

std::optional<Error> StopFault(const Interruption* interruption) {
  return ShouldStop(interruption) ? std::optional(NobodyWaits()) : std::nullopt;
}

}  // namespace scorecast::coordinator
