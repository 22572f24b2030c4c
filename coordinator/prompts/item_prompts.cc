#include "coordinator/prompts/item_prompts.h"

#include <algorithm>
#include <utility>

#include "coordinator/prompts/token_cut.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

using Tokens = std::vector<TokenId>;

void AppendTokens(Tokens& tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

std::int64_t Count(const Tokens& tokens) { return static_cast<std::int64_t>(tokens.size()); }

/// The size of a short beginning of `text` that has a certain cut; 0 if none is found.
std::size_t BeginningWithCut(const Tokenizer& tokenizer, std::string_view text,
                             const EncodeOptions& options) {
  constexpr std::size_t kLeastBytes = 8;
  for (std::size_t size = kLeastBytes; size < text.size(); size *= 2) {
    const std::size_t end = CharacterEnd(text, size);
    if (tokenizer.FindOpenEnd(text.substr(0, end), options).cut > 0) {
      return end;
    }
  }
  return 0;
}

}  // namespace

Expected<ItemPrompts, EncodeFault> ItemPrompts::Make(const Tokenizer& tokenizer, PromptFrame frame,
                                                     const EncodeLimits& limits) {
  ItemPrompts result(tokenizer, std::move(frame));
  PromptFrame& made = result.frame_;
  const Tokens& head = made.head.ids();
  result.prefix_.assign(head.begin(),
                        head.begin() + static_cast<std::ptrdiff_t>(made.prefix_tokens));
  const EncodeOptions later = {.at_start = false,
                               .special_tokens = made.head.tail_options().special_tokens};
  const std::size_t others = head.size() + made.after.size();
  Expected<EncodedText, EncodeFault> after_cut =
      tokenizer.EncodeWithin(limits.Behind(others), made.between + made.behind, later);
  if (!after_cut) {
    return Unexpected(after_cut.error());
  }
  result.after_cut_ = std::move(after_cut->ids);
  AppendTokens(result.after_cut_, made.after);
  if (!made.is_item_first) {
    const std::size_t size = BeginningWithCut(tokenizer, made.behind, later);
    made.between = made.behind.substr(0, size);
    made.behind.erase(0, size);
  }
  if (!made.between.empty() && !made.behind.empty()) {
    const Expected<ContinuedText, EncodeFault> text =
        ContinuedText::Make(tokenizer, {}, made.between, later, limits.Uncounted());
    if (!text) {
      return Unexpected(text.error());
    }
    Expected<Tokens, EncodeFault> rest = text->ContinueTail(made.behind, limits.Uncounted());
    if (!rest) {
      return Unexpected(rest.error());
    }
    result.usual_rest_ = {text->tail(), text->tail_options(), *std::move(rest)};
  }
  return result;
}

/// The item with the text before it in its run, and behind it as far as that is not the request's.
Expected<ContinuedText, EncodeFault> ItemPrompts::Block(std::string_view item,
                                                        const EncodeLimits& limits) const {
  return ContinuedText::Make(*tokenizer_, {},
                             frame_.head.tail() + std::string(item) + frame_.between,
                             frame_.head.tail_options(), limits);
}

/// Divides the tokens of a prompt behind the head's certain ones.
Continuation ItemPrompts::Divide(Tokens item, Tokens rest) const {
  Continuation prompt{.ids = std::move(rest), .head = std::move(item)};
  // Tokens that the prefix has behind the certain ones; none if there is a certain cut.
  const auto certain = static_cast<std::ptrdiff_t>(frame_.head.certain_tokens());
  const auto extra = static_cast<std::ptrdiff_t>(prefix_.size()) - certain;
  Tokens& first = prompt.head.empty() ? prompt.ids : prompt.head;
  if (extra <= std::ssize(first) &&
      std::equal(first.begin(), first.begin() + extra, prefix_.begin() + certain)) {
    first.erase(first.begin(), first.begin() + extra);
  } else {
    prompt.is_whole = true;
    first.insert(first.begin(), prefix_.begin(), prefix_.begin() + certain);
  }
  return prompt;
}

Expected<Continuation, EncodeFault> ItemPrompts::Uncut(std::string_view item,
                                                       const EncodeLimits& limits) const {
  const EncodeLimits of_run =
      limits.Behind(frame_.head.certain_tokens()).Behind(frame_.after.size());
  if (!frame_.is_item_first && frame_.between.empty()) {
    Expected<Tokens, EncodeFault> ids =
        frame_.head.ContinueTail(std::string(item) + frame_.behind, of_run);
    if (!ids) {
      return Unexpected(ids.error());
    }
    AppendTokens(*ids, frame_.after);
    return Divide({}, *std::move(ids));
  }
  const Expected<ContinuedText, EncodeFault> block = Block(item, limits.Uncounted());
  if (!block) {
    return Unexpected(block.error());
  }
  const bool is_usual = usual_rest_ && block->tail() == usual_rest_->tail &&
                        block->tail_options() == usual_rest_->options;
  Expected<Tokens, EncodeFault> rest =
      is_usual ? usual_rest_->ids
               : block->ContinueTail(frame_.behind, of_run.Behind(block->certain_tokens()));
  if (!rest) {
    return Unexpected(rest.error());
  }
  if (static_cast<std::int64_t>(block->certain_tokens()) + Count(*rest) > of_run.max_tokens) {
    return Unexpected(EncodeFault::kTooManyTokens);
  }
  AppendTokens(*rest, frame_.after);
  Tokens ids = block->ids();
  ids.resize(block->certain_tokens());
  if (!frame_.is_item_first) {
    AppendTokens(ids, *rest);
    return Divide({}, std::move(ids));
  }
  return Divide(std::move(ids), *std::move(rest));
}

/// The prompt of an item that loses all but `item_tokens` tokens.
Expected<Continuation, EncodeFault> ItemPrompts::Cut(std::string_view item,
                                                     std::int64_t item_tokens,
                                                     const ItemLimits& limits) const {
  const EncodeLimits unlimited = {.interruption = limits.interruption};
  const auto most = static_cast<std::size_t>(item_tokens);
  const ContinuedText& head = frame_.head;
  const std::string text = head.tail() + std::string(item);
  Tokens ids;
  if (limits.cut == Truncation::Side::kLeft) {
    Expected<Tokens, EncodeFault> last =
        LastTokens(*tokenizer_, text, head.tail_options(), most, unlimited);
    if (!last) {
      return Unexpected(last.error());
    }
    ids.assign(head.ids().begin() + static_cast<std::ptrdiff_t>(head.certain_tokens()),
               head.ids().end());
    AppendTokens(ids, *last);
  } else {
    Expected<Tokens, EncodeFault> first =
        FirstTokens(*tokenizer_, text, head.tail_options(), tail_tokens() + most, unlimited);
    if (!first) {
      return Unexpected(first.error());
    }
    ids = *std::move(first);
  }
  Tokens item_ids = frame_.is_item_first ? std::move(ids) : Tokens();
  Tokens rest = frame_.is_item_first ? Tokens() : std::move(ids);
  AppendTokens(rest, after_cut_);
  return Divide(std::move(item_ids), std::move(rest));
}

Expected<Continuation, EncodeFault> ItemPrompts::Item(std::string_view item,
                                                      const ItemLimits& limits) const {
  const ContinuedText& head = frame_.head;
  // Tokens of the prompt that are not the item's.
  const std::int64_t others = Count(head.ids()) + Count(after_cut_);
  const std::int64_t fits = limits.max_prompt_tokens - others;
  if (fits < 0) {
    return Unexpected(EncodeFault::kTooManyTokens);
  }
  const std::int64_t max_item_tokens = std::min(limits.max_item_tokens, fits);

  // The item's tokens are those by which it makes the text before it longer.
  EncodeLimits item_limits = {.interruption = limits.interruption};
  if (max_item_tokens < EncodeLimits::kUnlimited - Count(head.ids())) {
    item_limits.max_tokens = max_item_tokens + static_cast<std::int64_t>(tail_tokens());
  }
  Expected<Tokens, EncodeFault> joined = head.ContinueTail(item, item_limits);
  if (!joined) {
    return joined.error() == EncodeFault::kTooManyTokens && limits.cut
               ? Cut(item, max_item_tokens, limits)
               : Unexpected(joined.error());
  }
  const bool is_last_of_run = frame_.between.empty() && frame_.behind.empty();
  if (is_last_of_run && !frame_.is_item_first) {
    AppendTokens(*joined, frame_.after);
    return Divide({}, *std::move(joined));
  }
  Expected<Continuation, EncodeFault> uncut =
      Uncut(item, {.max_tokens = limits.max_prompt_tokens, .interruption = limits.interruption});
  // With the text behind it, the item may have more tokens than alone.
  if (!uncut && uncut.error() == EncodeFault::kTooManyTokens && limits.cut) {
    const std::int64_t item_tokens =
        std::max<std::int64_t>(Count(*joined) - static_cast<std::int64_t>(tail_tokens()), 0);
    return Cut(item, std::min(item_tokens, max_item_tokens), limits);
  }
  return uncut;
}

}  // namespace scorecast::coordinator
