#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/request/values.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

// Checks that several endpoints share. Each returns no error, or the 400 that names the field.

/// "129 > 128"
std::string Exceeds(std::int64_t value, std::int64_t limit);

/// The temperature of the softmax over labels must be finite and positive, and 1 without
/// `apply_softmax`. `field` is its name in the request.
std::optional<proto::Error> SoftmaxTemperatureFault(double temperature, bool apply_softmax,
                                                    const std::string& field);
std::optional<proto::Error> TopLogprobsFault(std::int64_t top_logprobs, std::int64_t vocab_size);

/// Each id must be in [0, vocab_size). The ids come from a client, or from a tokenizer, which may
/// have more tokens than the model.
std::optional<proto::Error> VocabularyFault(const std::vector<TokenId>& ids,
                                            const std::string& field, std::int64_t vocab_size);

/// Returns the tokens of a text that begins a sequence: BOS if the tokenizer adds one, then the
/// tokens of the text.
std::vector<TokenId> EncodeFromStart(const Tokenizer& tokenizer, std::string_view text,
                                     SpecialTokensInText special_tokens);

}  // namespace scorecast::coordinator
