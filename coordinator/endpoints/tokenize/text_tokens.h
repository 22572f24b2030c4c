#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A token and its place in the text.
struct TextToken {
  TokenId id = 0;
  std::string text;
  bool is_added = false;  ///< By the tokenizer's own rule: it is not in the text.
  // In characters. Empty for an added token, or if the place is not certain.
  std::optional<std::size_t> start;
  std::optional<std::size_t> stop;
};

/// The ids of `text`, which is valid UTF-8, with what the tokenizer's own rule adds if
/// `add_special_tokens`.
proto::Expected<std::vector<TokenId>, EncodeFault> IdsOfText(const Tokenizer& tokenizer,
                                                             std::string_view text,
                                                             bool add_special_tokens,
                                                             const EncodeOptions& options,
                                                             const EncodeLimits& limits);

/// The same with the tokens' texts and places: passes each token to `found`, in their order, so
/// that few of them are in memory at a time. Returns their number. A place is found by decoding. It
/// is not certain for tokens that share several characters, nor once the tokens decode to another
/// text, which a normalizer has changed.
proto::Expected<std::size_t, EncodeFault> FindTokens(
    const Tokenizer& tokenizer, std::string_view text, bool add_special_tokens,
    const EncodeOptions& options, const EncodeLimits& limits,
    const std::function<void(const TextToken&)>& found);

}  // namespace scorecast::coordinator
