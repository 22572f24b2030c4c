#include "coordinator/request/request_checks.h"

#include <algorithm>
#include <cmath>

#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {

using proto::Error;

std::string Exceeds(std::int64_t value, std::int64_t limit) {
  return std::to_string(value) + " > " + std::to_string(limit);
}

std::optional<Error> SoftmaxTemperatureFault(double temperature, bool apply_softmax,
                                             const std::string& field) {
  if (!std::isfinite(temperature) || temperature <= 0) {
    return BadRequest("temperature_out_of_range", field + " must be finite and greater than zero.",
                      field);
  }
  if (temperature != 1.0 && !apply_softmax) {
    return BadRequest("temperature_without_softmax", field + " requires apply_softmax=True.",
                      field);
  }
  return std::nullopt;
}

std::optional<Error> TopLogprobsFault(std::int64_t top_logprobs, std::int64_t vocab_size) {
  const std::int64_t most = std::min(kMaxTopLogprobs, vocab_size);
  if (top_logprobs >= 0 && top_logprobs <= most) {
    return std::nullopt;
  }
  return BadRequest("top_logprobs_out_of_range",
                    "top_logprobs must be from 0 to " + std::to_string(most) + ", not " +
                        std::to_string(top_logprobs) + ".",
                    "top_logprobs");
}

std::optional<Error> VocabularyFault(const std::vector<TokenId>& ids, const std::string& field,
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

std::vector<TokenId> EncodeFromStart(const Tokenizer& tokenizer, std::string_view text,
                                     SpecialTokensInText special_tokens) {
  std::vector<TokenId> ids;
  if (tokenizer.bos()) {
    ids.push_back(*tokenizer.bos());
  }
  const std::vector<TokenId> encoded = tokenizer.Encode(text, {.special_tokens = special_tokens});
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  return ids;
}

}  // namespace scorecast::coordinator
