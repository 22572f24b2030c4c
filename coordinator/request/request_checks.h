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

/// `field` is the temperature of the softmax over labels.
std::optional<proto::Error> SoftmaxTemperatureFault(double temperature, bool apply_softmax,
                                                    const std::string& field);
std::optional<proto::Error> TopLogprobsFault(std::int64_t top_logprobs, std::int64_t vocab_size);

/// The ids come from a client, or from a tokenizer that may have more tokens than the model.
std::optional<proto::Error> VocabularyFault(const std::vector<TokenId>& ids,
                                            const std::string& field, std::int64_t vocab_size);

/// The tokens of a text from its very start: BOS comes first if the rule of the tokenizer adds one,
/// which it does nowhere else.
std::vector<TokenId> EncodeFromStart(const Tokenizer& tokenizer, std::string_view text);

}  // namespace scorecast::coordinator
