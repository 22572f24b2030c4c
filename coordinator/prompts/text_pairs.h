#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coordinator/text/typed_tokens.h"
#include "proto/base/expected.h"
#include "proto/model/model_config.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// How long the texts of a pair may be, and what becomes of longer ones.
struct PairLimits {
  Truncation truncation;
  /// Most tokens of the first text by itself. A longer text is cut at its end.
  std::int64_t max_first_tokens = EncodeLimits::kUnlimited;
  /// Most tokens of the second text by itself. A longer text is cut at the side of `truncation`. If
  /// nothing may be cut, it is a kTooLong.
  std::int64_t max_second_tokens = EncodeLimits::kUnlimited;
  SpecialTokensInText special_tokens = SpecialTokensInText::kAllow;
  bool adds_tokens = true;                     ///< See TypedOptions.
  const Interruption* interruption = nullptr;  ///< See EncodeLimits.
};

/// The pairs of one text with others. That text is encoded once.
class TextPairs {
 public:
  /// `tokenizer` and what `limits` points to must outlive the result. Texts are valid UTF-8.
  static proto::Expected<TextPairs, TypedFault> Make(const Tokenizer& tokenizer,
                                                     std::string_view first,
                                                     const PairLimits& limits);

  /// The tokens before the second text, with which a pair begins unless its first text is cut.
  std::vector<TokenId> Prefix() const;

  /// The pair with `second`. It depends on the two texts and the limits alone.
  proto::Expected<TypedTokens, TypedFault> With(std::string_view second) const;

 private:
  TextPairs(const Tokenizer& tokenizer, const PairLimits& limits)
      : tokenizer_(&tokenizer),
        limits_(limits),
        added_(TemplateOf(tokenizer, limits.adds_tokens)) {}

  /// The tokens of the first (0) or second (1) text, of which the first `most` are enough.
  proto::Expected<std::vector<TokenId>, TypedFault> Encode(std::string_view text, int number,
                                                           std::int64_t most) const;

  const Tokenizer* tokenizer_;
  PairLimits limits_;
  TokenTemplate added_;
  std::vector<TokenId> first_;
};

/// The sequence of a text or a pair of a model that reads whole texts: one segment, whose rows are
/// pooled. Types are left out if the model has no table of them, or a table of one, or if the
/// tokenizer, which may be null, gives the model none.
proto::PackedSequence WholeSequence(TypedTokens text, const proto::ModelConfig& config,
                                    const Tokenizer* tokenizer);

}  // namespace scorecast::coordinator
