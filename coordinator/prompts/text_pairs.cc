#include "coordinator/prompts/text_pairs.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

/// A text that may not be cut is counted somewhat further, so that an error can say its length.
std::int64_t CountedUncut(std::int64_t max_length) {
  constexpr std::int64_t kMore = 1000;
  return std::min(max_length, EncodeLimits::kUnlimited / 2) + kMore;
}

}  // namespace

Expected<std::vector<TokenId>, TypedFault> TextPairs::Encode(std::string_view text, int number,
                                                             std::int64_t most) const {
  const Truncation& truncation = limits_.truncation;
  EncodeLimits limits = {.interruption = limits_.interruption};
  limits.enough_tokens = std::min(most, EnoughTokens(added_.pair, truncation, number));
  if (limits.enough_tokens == EncodeLimits::kUnlimited && !IsCut(truncation.strategy, number)) {
    limits.max_tokens = CountedUncut(truncation.max_length);
  }
  Expected<EncodedText, EncodeFault> encoded =
      tokenizer_->EncodeWithin(limits, text, {.special_tokens = limits_.special_tokens});
  if (!encoded) {
    return Unexpected(TypedFault{.kind = TypedFault::Kind::kEncode,
                                 .encode = encoded.error(),
                                 .text = number,
                                 .length = limits.max_tokens,
                                 .max_length = truncation.max_length});
  }
  return std::move(encoded->ids);
}

Expected<TextPairs, TypedFault> TextPairs::Make(const Tokenizer& tokenizer, std::string_view first,
                                                const PairLimits& limits) {
  TextPairs pairs(tokenizer, limits);
  auto ids = pairs.Encode(first, 0, limits.max_first_tokens);
  if (!ids) {
    return Unexpected(ids.error());
  }
  pairs.first_ = *std::move(ids);
  const auto count = static_cast<std::int64_t>(pairs.first_.size());
  pairs.first_.resize(static_cast<std::size_t>(std::min(count, limits.max_first_tokens)));
  return pairs;
}

std::vector<TokenId> TextPairs::Prefix() const {
  std::vector<TokenId> prefix;
  for (const TokenTemplate::Part& part : added_.pair) {
    if (part.kind == TokenTemplate::Part::Kind::kSecond) {
      break;
    }
    if (part.kind == TokenTemplate::Part::Kind::kToken) {
      prefix.push_back(part.id);
    } else {
      prefix.insert(prefix.end(), first_.begin(), first_.end());
    }
  }
  return prefix;
}

Expected<TypedTokens, TypedFault> TextPairs::With(std::string_view second) const {
  const Truncation& truncation = limits_.truncation;
  const std::int64_t most = limits_.max_second_tokens;
  const bool is_cut = truncation.strategy != Truncation::Strategy::kNone;
  const bool is_cut_right = is_cut && truncation.side == Truncation::Side::kRight;
  const auto ids = Encode(second, 1, is_cut_right ? most : EncodeLimits::kUnlimited);
  if (!ids) {
    return Unexpected(ids.error());
  }
  std::span<const TokenId> kept = *ids;
  const auto count = static_cast<std::int64_t>(kept.size());
  if (count > most) {
    if (!is_cut) {
      return Unexpected(TypedFault{
          .kind = TypedFault::Kind::kTooLong, .text = 1, .length = count, .max_length = most});
    }
    const auto size = static_cast<std::size_t>(most);
    kept = is_cut_right ? kept.first(size) : kept.last(size);
  }
  return ApplyTemplate(added_, first_, kept, truncation);
}

proto::PackedSequence WholeSequence(TypedTokens text, const proto::ModelConfig& config,
                                    const Tokenizer* tokenizer) {
  proto::PackedSequence sequence;
  const auto rows = static_cast<std::int32_t>(text.ids.size());
  sequence.tokens = std::move(text.ids);
  const bool has_types = tokenizer == nullptr || tokenizer->rules().gives_token_types;
  if (has_types && config.type_vocab_size > 1 &&
      std::ranges::any_of(text.types, [](std::uint8_t type) { return type != 0; })) {
    sequence.token_types = std::move(text.types);
  }
  sequence.segments.push_back({proto::SegmentKind::kPrefix, rows, 0});
  sequence.reads.push_back({.row = rows - 1, .first_row = 0});
  return sequence;
}

}  // namespace scorecast::coordinator
