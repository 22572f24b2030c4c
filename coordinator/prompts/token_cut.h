#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The end of the character that begins before `size` bytes of `text` and ends there or later.
std::size_t CharacterEnd(std::string_view text, std::size_t size);

/// The first `count` tokens of `text`, or all if it has fewer. What that costs depends on `count`,
/// not on the text's length. Of `limits`, only `interruption` counts.
proto::Expected<std::vector<TokenId>, EncodeFault> FirstTokens(const Tokenizer& tokenizer,
                                                               std::string_view text,
                                                               const EncodeOptions& options,
                                                               std::size_t count,
                                                               const EncodeLimits& limits);

/// The text of the first `count` tokens of `text`, whose special tokens are plain text; all of it
/// if it has no more. A character of which only a part is left is left out.
proto::Expected<std::string, EncodeFault> FirstText(const Tokenizer& tokenizer,
                                                    std::string_view text, std::int64_t count,
                                                    const Interruption* interruption);

/// The last `count` tokens of `text`. Of a text that is very long for so many tokens, only the end
/// is encoded, as a later section.
proto::Expected<std::vector<TokenId>, EncodeFault> LastTokens(const Tokenizer& tokenizer,
                                                              std::string_view text,
                                                              const EncodeOptions& options,
                                                              std::size_t count,
                                                              const EncodeLimits& limits);

}  // namespace scorecast::coordinator
