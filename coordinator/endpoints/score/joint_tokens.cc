#include "coordinator/endpoints/score/joint_tokens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/request/request_checks.h"

namespace scorecast::coordinator {
namespace {

std::vector<TokenId> Concatenated(std::vector<TokenId> first, const std::vector<TokenId>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

JointTokens::JointTokens(const ScoreRequest& request, const RequestContext& context)
    : request_(request), context_(context) {
  if (!IsText(request.query)) {
    query_ = Ids(request.query);
  } else if (context.options.items_continue_query()) {
    continued_query_.emplace(*context.tokenizer, Text(request.query),
                             context.options.special_tokens_in_text);
  } else {
    query_ = EncodeFromStart(*context.tokenizer, Text(request.query),
                             context.options.special_tokens_in_text);
  }
}

const std::vector<TokenId>& JointTokens::query() const {
  return continued_query_ ? continued_query_->ids() : query_;
}

ItemTokens JointTokens::Item(const TextOrIds& item) const {
  const EncodeOptions options = {.special_tokens = context_.options.special_tokens_in_text};
  if (!IsText(item)) {
    return {Ids(item)};
  }
  if (!continued_query_) {
    return {context_.tokenizer->Encode(Text(item), options)};
  }
  std::vector<TokenId> joint = continued_query_->Encode(Text(item));
  const std::vector<TokenId>& query = continued_query_->ids();
  if (query.size() > joint.size() || !std::equal(query.begin(), query.end(), joint.begin())) {
    return {std::move(joint), /*include_query=*/true};
  }
  joint.erase(joint.begin(), joint.begin() + static_cast<std::ptrdiff_t>(query.size()));
  return {std::move(joint)};
}

std::vector<TokenId> JointTokens::Prompt(const TextOrIds& item) const {
  if (!IsText(item)) {
    return request_.item_first ? Concatenated(Ids(item), query_) : Concatenated(query_, Ids(item));
  }
  const Tokenizer& tokenizer = *context_.tokenizer;
  const EncodeOptions options = {.special_tokens = context_.options.special_tokens_in_text};
  if (continued_query_) {
    return request_.item_first ? EncodeFromStart(tokenizer, Text(item) + Text(request_.query),
                                                 options.special_tokens)
                               : continued_query_->Encode(Text(item));
  }
  return request_.item_first
             ? Concatenated(EncodeFromStart(tokenizer, Text(item), options.special_tokens),
                            tokenizer.Encode(Text(request_.query), options))
             : Concatenated(query_, tokenizer.Encode(Text(item), options));
}

}  // namespace scorecast::coordinator
