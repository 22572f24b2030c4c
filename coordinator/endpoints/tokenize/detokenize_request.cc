#include "coordinator/endpoints/tokenize/detokenize_request.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/tokenize/complete_readout.h"
#include "coordinator/generate/text_stream.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

std::unique_ptr<EndpointResponse> ToResponse(std::string text) {
  auto response = std::make_unique<v1::DetokenizeResponse>();
  response->set_prompt(std::move(text));
  return std::make_unique<EndpointResponse>(std::move(response));
}

std::unique_ptr<EndpointResponse> ToTeiResponse(std::vector<std::string> texts) {
  auto response = std::make_unique<v1::TeiDetokenizeResponse>();
  for (std::string& text : texts) {
    response->add_texts(std::move(text));
  }
  return std::make_unique<EndpointResponse>(std::move(response));
}

/// The text of ids, decoded in slices, between which the request may end or give way.
Expected<std::string> TextOf(std::span<const TokenId> ids, const RequestContext& context) {
  constexpr std::size_t kSlice = 1024;
  if (ids.size() <= kSlice) {
    return context.tokenizer->Decode(ids);
  }
  TextStream stream(*context.tokenizer, {});
  std::string text;
  for (; !ids.empty(); ids = ids.subspan(std::min(kSlice, ids.size()))) {
    if (auto fault = StopFault(context.interruption)) {
      return Unexpected(*std::move(fault));
    }
    text += stream.Push(ids.first(std::min(kSlice, ids.size())));
  }
  return text + stream.Finish();
}

/// The texts of lists of ids. `field` is the one that has them.
Expected<std::vector<std::string>> TextsOf(const RequestOptions& options,
                                           std::span<const std::span<const TokenId>> lists,
                                           const std::string& field, bool skip_special_tokens,
                                           const RequestContext& context) {
  if (auto fault = OptionsFault(options)) {
    return Unexpected(*std::move(fault));
  }
  if (context.tokenizer == nullptr) {
    return Unexpected(BadRequest("no_tokenizer", "This model has no tokenizer.", field));
  }
  const auto num_lists = static_cast<std::int64_t>(lists.size());
  if (num_lists > context.options.max_items) {
    return Unexpected(BadRequest(
        "too_many_items",
        "Too many lists of ids: " + Exceeds(num_lists, context.options.max_items) + ".", field));
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (auto fault = VocabularyFault(lists[i], num_lists == 1 ? field : At(field, i),
                                     context.config.vocab_size)) {
      return Unexpected(*std::move(fault));
    }
  }
  std::vector<std::string> texts;
  for (const std::span<const TokenId> list : lists) {
    std::vector<TokenId> ids(list.begin(), list.end());
    if (skip_special_tokens) {
      std::erase_if(ids, [&](TokenId id) { return context.tokenizer->IsSpecial(id); });
    }
    Expected<std::string> text = TextOf(ids, context);
    if (!text) {
      return Unexpected(std::move(text).error());
    }
    texts.push_back(*std::move(text));
  }
  return texts;
}

std::int64_t TextBytesBound(std::span<const TokenId> ids) {
  return kListBytes + static_cast<std::int64_t>(ids.size()) * kTextBytesPerToken;
}

/// The lists of TEI's form.
std::vector<std::span<const TokenId>> ListsOf(const v1::DetokenizeIdsRequest& request) {
  GivenLabels lists;
  ViewIds(request.ids(), lists);
  return lists.ids.value_or(std::vector<std::span<const TokenId>>());
}

}  // namespace

Expected<PreparedRequest> PrepareDetokenizeTokens(
    MessageRequest<v1::DetokenizeTokensRequest> request, const RequestContext& context,
    const OnDelta& /*on_delta*/) {
  const std::span<const TokenId> tokens = ViewOf(request.message.tokens());
  Expected<std::vector<std::string>> texts =
      TextsOf(request, {&tokens, 1}, "tokens", /*skip_special_tokens=*/false, context);
  if (!texts) {
    return Unexpected(std::move(texts).error());
  }
  return Complete(ToResponse(std::move(texts->front())), tokens.size());
}

std::int64_t DetokenizeTokensResponseBytesBound(
    const MessageRequest<v1::DetokenizeTokensRequest>& request,
    const proto::ModelConfig& /*config*/) {
  return kOtherBytes + TextBytesBound(ViewOf(request.message.tokens()));
}

Expected<PreparedRequest> PrepareDetokenizeIds(MessageRequest<v1::DetokenizeIdsRequest> request,
                                               const RequestContext& context,
                                               const OnDelta& /*on_delta*/) {
  const std::vector<std::span<const TokenId>> lists = ListsOf(request.message);
  Expected<std::vector<std::string>> texts =
      TextsOf(request, lists, "ids", request.message.skip_special_tokens(), context);
  if (!texts) {
    return Unexpected(std::move(texts).error());
  }
  std::size_t num_tokens = 0;
  for (const std::span<const TokenId> list : lists) {
    num_tokens += list.size();
  }
  return Complete(ToTeiResponse(*std::move(texts)), num_tokens);
}

std::int64_t DetokenizeIdsResponseBytesBound(
    const MessageRequest<v1::DetokenizeIdsRequest>& request, const proto::ModelConfig& /*config*/) {
  std::int64_t bytes = kOtherBytes;
  for (const std::span<const TokenId> list : ListsOf(request.message)) {
    bytes += TextBytesBound(list);
  }
  return bytes;
}

}  // namespace scorecast::coordinator
