#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/steps/encode_options.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A text that begins many texts, such as a query with its items. It is tokenized once: each longer
/// text is tokenized from the last place at which the tokenizer cuts for certain, whatever follows
/// (OpenEnd::cut). Const methods may be called from several threads at the same time.
class ContinuedText {
 public:
  /// Encodes `text`, which must be valid UTF-8, with BOS at most `limits.max_tokens`. `tokenizer`
  /// must outlive the result.
  static proto::Expected<ContinuedText, EncodeFault> Make(const Tokenizer& tokenizer,
                                                          std::string_view text,
                                                          SpecialTokensInText special_tokens,
                                                          const EncodeLimits& limits = {});

  /// The same for a text that stands behind `before`, tokens that ids() then begins with. They
  /// count for the limits.
  static proto::Expected<ContinuedText, EncodeFault> Make(const Tokenizer& tokenizer,
                                                          std::vector<TokenId> before,
                                                          std::string_view text,
                                                          const EncodeOptions& options,
                                                          const EncodeLimits& limits = {});

  /// The tokens of the text from its start: BOS if the tokenizer adds one, then those of the text.
  const std::vector<TokenId>& ids() const { return ids_; }

  /// The tokens of text + continuation from its start.
  proto::Expected<std::vector<TokenId>, EncodeFault> Continue(
      std::string_view continuation, const EncodeLimits& limits = {}) const;

  /// How many of ids() every continued text begins with.
  std::size_t certain_tokens() const { return head_tokens_; }
  /// The text behind these tokens, and how it is encoded.
  const std::string& tail() const { return tail_; }
  const EncodeOptions& tail_options() const { return tail_options_; }

  /// The tokens of text + continuation behind certain_tokens(), which do not count for the limits.
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
