#include "coordinator/endpoints/score/joint_tokens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/request/request_checks.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

std::vector<TokenId> Concatenated(std::vector<TokenId> first, const std::vector<TokenId>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

Expected<JointTokens, EncodeFault> JointTokens::Make(const ScoreRequest& request,
                                                     const RequestContext& context,
                                                     std::int64_t most) {
  JointTokens result(request, context);
  if (!IsText(request.query)) {
    result.query_ = Ids(request.query);
    return result;
  }
  const SpecialTokensInText special_tokens = context.options.special_tokens_in_text;
  if (context.options.items_continue_query()) {
    Expected<ContinuedText, EncodeFault> query = ContinuedText::Make(
        *context.tokenizer, Text(request.query), special_tokens, result.Limits(most));
    if (!query) {
      return Unexpected(query.error());
    }
    result.continued_query_.emplace(*std::move(query));
  } else {
    Expected<std::vector<TokenId>, EncodeFault> query = EncodeFromStart(
        result.Limits(most), *context.tokenizer, Text(request.query), special_tokens);
    if (!query) {
      return Unexpected(query.error());
    }
    result.query_ = *std::move(query);
  }
  return result;
}

const std::vector<TokenId>& JointTokens::query() const {
  return continued_query_ ? continued_query_->ids() : query_;
}

Expected<Continuation, EncodeFault> JointTokens::Item(const TextOrIds& item,
                                                      std::int64_t most) const {
  if (!IsText(item)) {
    return Continuation{Ids(item)};
  }
  if (!continued_query_) {
    Expected<EncodedText, EncodeFault> alone = context_.tokenizer->EncodeWithin(
        Limits(most).Behind(query_.size()), Text(item),
        {.special_tokens = context_.options.special_tokens_in_text});
    return alone ? Expected<Continuation, EncodeFault>(Continuation{std::move(alone->ids)})
                 : Unexpected(alone.error());
  }
  Expected<std::vector<TokenId>, EncodeFault> encoded =
      continued_query_->Continue(Text(item), Limits(most));
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  std::vector<TokenId> joint = *std::move(encoded);
  const std::vector<TokenId>& query = continued_query_->ids();
  if (query.size() > joint.size() || !std::equal(query.begin(), query.end(), joint.begin())) {
    return Continuation{std::move(joint), /*is_whole=*/true};
  }
  joint.erase(joint.begin(), joint.begin() + static_cast<std::ptrdiff_t>(query.size()));
  return Continuation{std::move(joint)};
}

Expected<std::vector<TokenId>, EncodeFault> JointTokens::Prompt(const TextOrIds& item,
                                                                std::int64_t most) const {
  if (!IsText(item)) {
    return request_.item_first ? Concatenated(Ids(item), query_) : Concatenated(query_, Ids(item));
  }
  const Tokenizer& tokenizer = *context_.tokenizer;
  const EncodeOptions options = {.special_tokens = context_.options.special_tokens_in_text};
  if (continued_query_) {
    return request_.item_first
               ? EncodeFromStart(Limits(most), tokenizer, Text(item) + Text(request_.query),
                                 options.special_tokens)
               : continued_query_->Continue(Text(item), Limits(most));
  }
  Expected<std::vector<TokenId>, EncodeFault> first =
      request_.item_first
          ? EncodeFromStart(Limits(most), tokenizer, Text(item), options.special_tokens)
          : query_;
  if (!first) {
    return first;
  }
  const Expected<EncodedText, EncodeFault> second =
      tokenizer.EncodeWithin(Limits(most).Behind(first->size()),
                             Text(request_.item_first ? request_.query : item), options);
  if (!second) {
    return Unexpected(second.error());
  }
  return Concatenated(*std::move(first), second->ids);
}

}  // namespace scorecast::coordinator
