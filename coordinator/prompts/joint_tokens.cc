#include "coordinator/prompts/joint_tokens.h"

#include <string>
#include <utility>

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

const std::string_view* TextOf(const TextOrTokens& value) {
  return std::get_if<std::string_view>(&value);
}

std::vector<TokenId> IdsOf(const TextOrTokens& value) {
  const auto ids = std::get<std::span<const TokenId>>(value);
  return {ids.begin(), ids.end()};
}

std::vector<TokenId> Concatenated(std::vector<TokenId> first, const std::vector<TokenId>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Continuation WholePrompt(std::vector<TokenId> ids) {
  return {.ids = std::move(ids), .is_whole = true};
}

}  // namespace

Expected<JointTokens, EncodeFault> JointTokens::Make(TextOrTokens query,
                                                     const JointOptions& options,
                                                     std::int64_t most) {
  JointTokens result(query, options);
  const std::string_view* text = TextOf(query);
  if (text == nullptr) {
    result.query_ = IdsOf(query);
    return result;
  }
  if (!options.items_continue_query) {
    Expected<std::vector<TokenId>, EncodeFault> ids = result.FromStart(*text, most);
    if (!ids) {
      return Unexpected(ids.error());
    }
    result.query_ = *std::move(ids);
    return result;
  }
  Expected<ContinuedText, EncodeFault> head =
      ContinuedText::Make(*options.tokenizer, *text, options.special_tokens, result.Limits(most));
  if (!head) {
    return Unexpected(head.error());
  }
  const std::size_t size = head->ids().size();
  Expected<ItemPrompts, EncodeFault> prompts = ItemPrompts::Make(
      *options.tokenizer, {.head = *std::move(head), .prefix_tokens = size}, result.Limits(most));
  if (!prompts) {
    return Unexpected(prompts.error());
  }
  result.query_ = prompts->prefix();
  result.continued_query_ = *std::move(prompts);
  return result;
}

Expected<Continuation, EncodeFault> JointTokens::Item(TextOrTokens item, std::int64_t most) const {
  const std::string_view* text = TextOf(item);
  if (text == nullptr) {
    return Continuation{IdsOf(item)};
  }
  if (continued_query_) {
    return continued_query_->Uncut(*text, Limits(most));
  }
  Expected<std::vector<TokenId>, EncodeFault> ids =
      Alone(*text, Limits(most).Behind(query_.size()));
  return ids ? Expected<Continuation, EncodeFault>(Continuation{*std::move(ids)})
             : Unexpected(ids.error());
}

Expected<Continuation, EncodeFault> JointTokens::Prompt(TextOrTokens item,
                                                        std::int64_t most) const {
  const std::string_view* text = TextOf(item);
  if (continued_query_ && options_.item_first) {
    const std::string_view query = std::get<std::string_view>(given_);
    Expected<std::vector<TokenId>, EncodeFault> ids =
        FromStart(std::string(*text) + std::string(query), most);
    return ids ? Expected<Continuation, EncodeFault>(WholePrompt(*std::move(ids)))
               : Unexpected(ids.error());
  }
  if (!options_.item_first) {
    Expected<Continuation, EncodeFault> prompt = Item(item, most);
    if (prompt && !prompt->is_whole) {
      *prompt = WholePrompt(Concatenated(query_, prompt->ids));
    }
    return prompt;
  }
  if (text == nullptr) {
    return WholePrompt(Concatenated(IdsOf(item), query_));
  }
  Expected<std::vector<TokenId>, EncodeFault> first = FromStart(*text, most);
  if (!first) {
    return Unexpected(first.error());
  }
  const Expected<std::vector<TokenId>, EncodeFault> second =
      Alone(std::get<std::string_view>(given_), Limits(most).Behind(first->size()));
  if (!second) {
    return Unexpected(second.error());
  }
  return WholePrompt(Concatenated(*std::move(first), *second));
}

/// BOS if the tokenizer adds one, then the tokens of a text.
Expected<std::vector<TokenId>, EncodeFault> JointTokens::FromStart(std::string_view text,
                                                                   std::int64_t most) const {
  return EncodeFromStart(Limits(most), *options_.tokenizer, text, options_.special_tokens);
}

/// The tokens of a text that is encoded by itself.
Expected<std::vector<TokenId>, EncodeFault> JointTokens::Alone(std::string_view text,
                                                               const EncodeLimits& limits) const {
  Expected<EncodedText, EncodeFault> encoded =
      options_.tokenizer->EncodeWithin(limits, text, {.special_tokens = options_.special_tokens});
  return encoded ? Expected<std::vector<TokenId>, EncodeFault>(std::move(encoded->ids))
                 : Unexpected(encoded.error());
}

}  // namespace scorecast::coordinator
