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

// What several doors check of their requests: nothing, or the 400 that names the field.

/// "129 > 128"
std::string Exceeds(std::int64_t value, std::int64_t limit);

/// The labels' softmax, whose temperature is `field`.
std::optional<proto::Error> SoftmaxTemperatureFault(double temperature, bool apply_softmax,
                                                    const std::string& field);
std::optional<proto::Error> TopLogprobsFault(std::int64_t top_logprobs, std::int64_t vocab_size);

/// Ids that a client gave, or that a tokenizer with more tokens than the model made of its text.
std::optional<proto::Error> VocabularyFault(const std::vector<TokenId>& ids,
                                            const std::string& field, std::int64_t vocab_size);

/// BOS, where the tokenizer's own rule adds one, and the text's tokens: BOS belongs at the very
/// start of a text, and nowhere else.
std::vector<TokenId> EncodeFromStart(const Tokenizer& tokenizer, std::string_view text);

}  // namespace scorecast::coordinator
