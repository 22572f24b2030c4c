#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/continued_text.h"
#include "coordinator/text/models/token_collector.h"
#include "coordinator/text/steps/encode_options.h"
#include "coordinator/text/steps/token_template.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The tokens of a text or a pair, with those that the tokenizer's template adds.
struct TypedTokens {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> types;  ///< The `token_type_ids`: one for each id.
  /// The first row that belongs neither to the prompt nor to what the template puts before it; 0
  /// without a prompt. It is always a row of the text, even if truncation left the prompt only.
  std::int64_t first_row_after_prompt = 0;
};

/// Which tokens are left out if there are too many. The rules are those of the library
/// `tokenizers`.
struct Truncation {
  enum class Strategy : std::uint8_t {
    kNone,  ///< Too many tokens are a fault.
    /// The longer text of a pair is cut. If the shorter one has more than half of the room, each
    /// text gets half, and the longer one the odd token (the second one if both are equally long).
    kLongestFirst,
    kOnlyFirst,  ///< At least one token of the text that is cut must be left.
    kOnlySecond,
  };
  using Side = TruncationSide;

  std::int64_t max_length = EncodeLimits::kUnlimited;  ///< Counts the tokens of the template, too.
  Strategy strategy = Strategy::kNone;
  Side side = Side::kRight;
};

/// Why a text or a pair has no tokens.
struct TypedFault {
  enum class Kind : std::uint8_t {
    kEncode,       ///< One of the texts cannot be encoded: see `encode` and `text`.
    kTooLong,      ///< There are `length` tokens, more than `max_length`, and nothing may be cut.
    kNoRoom,       ///< If as much is cut as the strategy can cut, `length` tokens are left.
    kNotRendered,  ///< The text is a message that the chat template cannot render: `why`.
  };

  static constexpr int kAll = -1;

  Kind kind = Kind::kTooLong;
  EncodeFault encode = EncodeFault::kStopped;
  int text = kAll;  ///< 0: the first text by itself; 1: the second one; kAll: with what is added.
  std::int64_t length = 0;
  std::int64_t max_length = 0;
  std::string why;  ///< One line.

  /// E.g. "600 tokens > 512".
  std::string Message() const;
};

/// Puts the tokens of `added` around `first` and, for a pair, `second`, after cutting them. A text
/// may be empty: it keeps its place.
proto::Expected<TypedTokens, TypedFault> ApplyTemplate(
    const TokenTemplate& added, std::span<const TokenId> first,
    std::optional<std::span<const TokenId>> second, const Truncation& truncation);

/// Whether the first (0) or second (1) text of a pair, or the only one (0), may be cut.
bool IsCut(Truncation::Strategy strategy, int text);

/// How many tokens of the first (0) or second (1) text are enough for ApplyTemplate, because what
/// follows them is cut in any case. EncodeLimits::kUnlimited if all of them count.
std::int64_t EnoughTokens(const TokenTemplate::Parts& parts, const Truncation& truncation,
                          int text);

/// A text that is put before many texts, and encoded with each of them. It is tokenized once, but
/// for what may become other tokens with the text behind it.
class TextPrompt {
 public:
  /// `tokenizer` must outlive the result. `adds_tokens`: see TypedOptions.
  static proto::Expected<TextPrompt, TypedFault> Make(
      const Tokenizer& tokenizer, std::string_view text,
      SpecialTokensInText special_tokens = SpecialTokensInText::kAllow,
      const EncodeLimits& limits = {}, bool adds_tokens = true);

  std::int64_t tokens() const { return static_cast<std::int64_t>(text_.ids().size()); }
  /// The bytes that are tokenized again with each text.
  std::size_t bytes_again() const { return text_.tail().size(); }
  /// The rows of the prompt by itself, as sentence-transformers counts them: with what is put
  /// around it, except for a special token at its end.
  std::int64_t rows() const { return rows_; }
  /// The tokens of the prompt and the text behind it. As EncodeWithin, at least
  /// `limits.enough_tokens` if there are so many.
  proto::Expected<std::vector<TokenId>, EncodeFault> With(std::string_view text,
                                                          EncodeLimits limits) const;

 private:
  TextPrompt(ContinuedText text, std::int64_t rows) : text_(std::move(text)), rows_(rows) {}

  ContinuedText text_;
  std::int64_t rows_;
};

struct TypedOptions {
  /// Is put before the (first) text. May be null. It was made with the same `special_tokens` and
  /// `adds_tokens`.
  const TextPrompt* prompt = nullptr;
  Truncation truncation;
  SpecialTokensInText special_tokens = SpecialTokensInText::kAllow;
  EncodeLimits limits;      ///< For each text.
  bool adds_tokens = true;  ///< Whether the tokenizer's own tokens are put around the texts.
};

/// What the tokenizer puts around texts; without any token if `adds_tokens` is false.
TokenTemplate TemplateOf(const Tokenizer& tokenizer, bool adds_tokens);

/// The tokens of `text`, which must be valid UTF-8, with what the tokenizer adds around it.
proto::Expected<TypedTokens, TypedFault> EncodeTyped(const Tokenizer& tokenizer,
                                                     std::string_view text,
                                                     const TypedOptions& options = {});

/// The tokens of a pair.
proto::Expected<TypedTokens, TypedFault> EncodeTyped(const Tokenizer& tokenizer,
                                                     std::string_view first,
                                                     std::string_view second,
                                                     const TypedOptions& options = {});

}  // namespace scorecast::coordinator
