#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/steps/encode_options.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The tokens of a text that begins a sequence: BOS if the tokenizer adds one, then those of the
/// text. All of them count.
proto::Expected<std::vector<TokenId>, EncodeFault> EncodeFromStart(
    const EncodeLimits& limits, const Tokenizer& tokenizer, std::string_view text,
    SpecialTokensInText special_tokens);

/// A text that begins many texts, such as a query with its items. The beginning is tokenized once.
/// A longer text is then tokenized only from the last place at which the tokenizer certainly cuts,
/// whatever follows (OpenEnd::cut). Const methods may be called from several threads at the same
/// time.
class ContinuedText {
 public:
  /// Encodes `text`, which must be valid UTF-8, into at most `limits.max_tokens` tokens, BOS
  /// included. `tokenizer` must outlive the result.
  static proto::Expected<ContinuedText, EncodeFault> Make(const Tokenizer& tokenizer,
                                                          std::string_view text,
                                                          SpecialTokensInText special_tokens,
                                                          const EncodeLimits& limits = {});

  /// The same for a text that follows the tokens `before`. ids() then begins with them, and they
  /// count for the limits.
  static proto::Expected<ContinuedText, EncodeFault> Make(const Tokenizer& tokenizer,
                                                          std::vector<TokenId> before,
                                                          std::string_view text,
                                                          const EncodeOptions& options,
                                                          const EncodeLimits& limits = {});

  /// The tokens of the text: BOS if the tokenizer adds one, then the tokens of the text itself.
  const std::vector<TokenId>& ids() const { return ids_; }

  /// How many of ids() are the first tokens of every continued text.
  std::size_t certain_tokens() const { return head_tokens_; }
  /// The part of the text after these tokens, and how it is encoded.
  const std::string& tail() const { return tail_; }
  const EncodeOptions& tail_options() const { return tail_options_; }

  /// The tokens of text + continuation after the first certain_tokens(), which do not count for the
  /// limits.
  proto::Expected<std::vector<TokenId>, EncodeFault> ContinueTail(
      std::string_view continuation, const EncodeLimits& limits = {}) const;

 private:
  ContinuedText(const Tokenizer& tokenizer, const EncodeOptions& options)
      : tokenizer_(&tokenizer), tail_options_(options) {}

  const Tokenizer* tokenizer_;
  EncodeOptions tail_options_;
  std::vector<TokenId> ids_;
  std::size_t head_tokens_ = 0;  ///< Number of `ids_` before the cut.
  std::string tail_;             ///< The text behind the cut.
};

}  // namespace scorecast::coordinator
