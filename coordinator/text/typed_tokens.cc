#include "coordinator/text/typed_tokens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

using Part = TokenTemplate::Part;
using Strategy = Truncation::Strategy;
using TypedResult = Expected<TypedTokens, TypedFault>;

struct Lengths {
  std::int64_t first = 0;
  std::int64_t second = 0;

  std::int64_t total() const { return first + second; }
};

/// Half of the room for each text, unless the shorter one needs less.
Lengths CutLongest(Lengths whole, std::int64_t room, bool is_pair) {
  if (!is_pair) {
    return {.first = room};
  }
  const bool first_is_longer = whole.first > whole.second;
  std::int64_t shorter = std::min(whole.first, whole.second);
  std::int64_t longer = room - shorter;
  if (shorter > longer) {
    shorter = room / 2;
    longer = room - shorter;
  }
  return first_is_longer ? Lengths{longer, shorter} : Lengths{shorter, longer};
}

/// The lengths of the texts after cutting; nullopt if the strategy cannot cut enough.
std::optional<Lengths> Cut(Lengths whole, std::int64_t room, Strategy strategy, bool is_pair) {
  if (room <= 0) {
    return room == 0 ? std::optional(Lengths{}) : std::nullopt;
  }
  const std::int64_t excess = whole.total() - room;
  switch (strategy) {
    case Strategy::kLongestFirst:
      return CutLongest(whole, room, is_pair);
    case Strategy::kOnlyFirst:
      whole.first -= excess;
      return whole.first > 0 ? std::optional(whole) : std::nullopt;
    case Strategy::kOnlySecond:
      whole.second -= excess;
      return whole.second > 0 ? std::optional(whole) : std::nullopt;
    case Strategy::kNone:
      break;
  }
  return std::nullopt;
}

/// How many tokens of the texts are left if as much is cut as possible. A text that is cut alone
/// keeps one token.
std::int64_t LeastLeft(Lengths whole, const Truncation& truncation) {
  switch (truncation.strategy) {
    case Strategy::kOnlyFirst:
      return whole.second + 1;
    case Strategy::kOnlySecond:
      return whole.first + 1;
    default:
      return 0;
  }
}

std::span<const TokenId> Left(std::span<const TokenId> ids, std::int64_t length,
                              Truncation::Side side) {
  const auto count = std::min(ids.size(), static_cast<std::size_t>(length));
  return side == Truncation::Side::kRight ? ids.first(count) : ids.last(count);
}

Expected<std::vector<TokenId>, TypedFault> Encode(const Tokenizer& tokenizer, std::string_view text,
                                                  int number, std::int64_t enough_tokens,
                                                  const TypedOptions& options) {
  EncodeLimits limits = options.limits;
  limits.enough_tokens = std::min(limits.enough_tokens, enough_tokens);
  const auto fault = [&](EncodeFault of_text) {
    return Unexpected(
        TypedFault{.kind = TypedFault::Kind::kEncode, .encode = of_text, .text = number});
  };
  if (number == 0 && options.prompt != nullptr) {
    auto with_prompt = options.prompt->With(text, limits);
    return with_prompt ? Expected<std::vector<TokenId>, TypedFault>(*std::move(with_prompt))
                       : fault(with_prompt.error());
  }
  Expected<EncodedText, EncodeFault> encoded =
      tokenizer.EncodeWithin(limits, text, {.special_tokens = options.special_tokens});
  return encoded ? Expected<std::vector<TokenId>, TypedFault>(std::move(encoded->ids))
                 : fault(encoded.error());
}

TypedResult EncodeTexts(const Tokenizer& tokenizer, std::string_view first,
                        std::optional<std::string_view> second, const TypedOptions& options) {
  const TokenTemplate added = TemplateOf(tokenizer, options.adds_tokens);
  const TokenTemplate::Parts& parts = second ? added.pair : added.single;
  const auto first_ids =
      Encode(tokenizer, first, 0, EnoughTokens(parts, options.truncation, 0), options);
  if (!first_ids.has_value()) {
    return Unexpected(first_ids.error());
  }
  std::vector<TokenId> second_ids;
  if (second) {
    auto encoded =
        Encode(tokenizer, *second, 1, EnoughTokens(parts, options.truncation, 1), options);
    if (!encoded.has_value()) {
      return Unexpected(encoded.error());
    }
    second_ids = *std::move(encoded);
  }
  TypedResult typed =
      ApplyTemplate(added, *first_ids,
                    second ? std::optional(std::span<const TokenId>(second_ids)) : std::nullopt,
                    options.truncation);
  if (typed.has_value() && options.prompt != nullptr) {
    const auto last = static_cast<std::int64_t>(typed->ids.size()) - 1;
    typed->first_row_after_prompt =
        std::clamp<std::int64_t>(options.prompt->rows(), 0, std::max<std::int64_t>(last, 0));
  }
  return typed;
}

}  // namespace

std::string TypedFault::Message() const {
  return std::to_string(length) + " tokens > " + std::to_string(max_length);
}

bool IsCut(Strategy strategy, int text) {
  return strategy == Strategy::kLongestFirst ||
         strategy == (text == 0 ? Strategy::kOnlyFirst : Strategy::kOnlySecond);
}

std::int64_t EnoughTokens(const TokenTemplate::Parts& parts, const Truncation& truncation,
                          int text) {
  if (!IsCut(truncation.strategy, text) || truncation.side != Truncation::Side::kRight ||
      truncation.max_length == EncodeLimits::kUnlimited) {
    return EncodeLimits::kUnlimited;
  }
  // One more than there is room for, because texts that just fit are not cut.
  return std::max<std::int64_t>(truncation.max_length - TokenTemplate::AddedTokens(parts), 0) + 1;
}

TypedResult ApplyTemplate(const TokenTemplate& added, std::span<const TokenId> first,
                          std::optional<std::span<const TokenId>> second,
                          const Truncation& truncation) {
  const TokenTemplate::Parts& parts = second ? added.pair : added.single;
  const std::int64_t added_tokens = TokenTemplate::AddedTokens(parts);
  const Lengths whole = {.first = static_cast<std::int64_t>(first.size()),
                         .second = second ? static_cast<std::int64_t>(second->size()) : 0};
  const std::int64_t length = whole.total() + added_tokens;
  Lengths left = whole;
  if (length > truncation.max_length) {
    TypedFault fault = {
        .kind = TypedFault::Kind::kTooLong, .length = length, .max_length = truncation.max_length};
    if (truncation.strategy == Strategy::kNone) {
      return Unexpected(fault);
    }
    const std::optional<Lengths> cut =
        Cut(whole, truncation.max_length - added_tokens, truncation.strategy, second.has_value());
    if (!cut) {
      fault.kind = TypedFault::Kind::kNoRoom;
      fault.length = added_tokens + LeastLeft(whole, truncation);
      return Unexpected(fault);
    }
    left = *cut;
  }
  TypedTokens typed;
  typed.ids.reserve(static_cast<std::size_t>(left.total() + added_tokens));
  for (const Part& part : parts) {
    if (part.kind == Part::Kind::kToken) {
      typed.ids.push_back(part.id);
    } else {
      const bool is_first = part.kind == Part::Kind::kFirst;
      const std::span<const TokenId> text =
          Left(is_first ? first : *second, is_first ? left.first : left.second, truncation.side);
      typed.ids.insert(typed.ids.end(), text.begin(), text.end());
    }
    typed.types.resize(typed.ids.size(), part.type);
  }
  return typed;
}

TokenTemplate TemplateOf(const Tokenizer& tokenizer, bool adds_tokens) {
  TokenTemplate added = tokenizer.token_template();
  return adds_tokens ? added : added.WithoutTokens();
}

Expected<TextPrompt, TypedFault> TextPrompt::Make(const Tokenizer& tokenizer, std::string_view text,
                                                  SpecialTokensInText special_tokens,
                                                  const EncodeLimits& limits, bool adds_tokens) {
  Expected<ContinuedText, EncodeFault> prompt =
      ContinuedText::Make(tokenizer, {}, text, {.special_tokens = special_tokens}, limits);
  if (!prompt) {
    return Unexpected(
        TypedFault{.kind = TypedFault::Kind::kEncode, .encode = prompt.error(), .text = 0});
  }
  const TypedTokens alone =
      ApplyTemplate(TemplateOf(tokenizer, adds_tokens), prompt->ids(), std::nullopt, {}).value();
  const auto rows = static_cast<std::int64_t>(alone.ids.size());
  const bool ends_special = !alone.ids.empty() && tokenizer.IsSpecial(alone.ids.back());
  return TextPrompt(*std::move(prompt), ends_special ? rows - 1 : rows);
}

Expected<std::vector<TokenId>, EncodeFault> TextPrompt::With(std::string_view text,
                                                             EncodeLimits limits) const {
  const std::span<const TokenId> certain = std::span(text_.ids()).first(text_.certain_tokens());
  const auto count = static_cast<std::int64_t>(certain.size());
  if (limits.enough_tokens <= count) {
    const auto enough = certain.first(static_cast<std::size_t>(limits.enough_tokens));
    return std::vector<TokenId>(enough.begin(), enough.end());
  }
  limits = limits.Behind(certain.size());
  limits.enough_tokens -= limits.enough_tokens == EncodeLimits::kUnlimited ? 0 : count;
  Expected<std::vector<TokenId>, EncodeFault> rest = text_.ContinueTail(text, limits);
  if (rest) {
    rest->insert(rest->begin(), certain.begin(), certain.end());
  }
  return rest;
}

TypedResult EncodeTyped(const Tokenizer& tokenizer, std::string_view text,
                        const TypedOptions& options) {
  return EncodeTexts(tokenizer, text, std::nullopt, options);
}

TypedResult EncodeTyped(const Tokenizer& tokenizer, std::string_view first, std::string_view second,
                        const TypedOptions& options) {
  return EncodeTexts(tokenizer, first, second, options);
}

}  // namespace scorecast::coordinator
