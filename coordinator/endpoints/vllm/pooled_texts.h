#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "coordinator/endpoints/conversation_tokens.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_sequences.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Name of the texts in vLLM's requests.
inline constexpr const char* kVllmTexts = "input";

/// The texts of a request that is like v1::PooledTextOptions. If it has a conversation, that is the
/// only text, and `ids` becomes its tokens, which must outlive the result.
template <typename Message>
proto::Expected<TextInputs> VllmInputs(const MessageRequest<Message>& request,
                                       const RequestContext& context, std::vector<TokenId>& ids) {
  const Message& message = request.message;
  proto::Expected<TextLength> length = CheckLength(
      /*truncate=*/false, Given(message.has_truncation_direction(), message.truncation_direction()),
      context, Given(message.has_truncate_prompt_tokens(), message.truncate_prompt_tokens()));
  if (!length) {
    return proto::Unexpected(std::move(length).error());
  }
  length->cut_field = "truncate_prompt_tokens";
  if constexpr (requires { message.messages(); }) {
    proto::Expected<std::vector<TokenId>> tokens = TokensOfConversation(request, context);
    if (!tokens) {
      return proto::Unexpected(std::move(tokens).error());
    }
    ids = *std::move(tokens);
    return TextInputs{.texts = {{.first = std::span<const TokenId>(ids), .second = std::nullopt}},
                      .field = "messages",
                      .length = *length};
  } else {
    return TextInputs{
        .texts = InputsOf(ViewsOf(message.input())), .field = kVllmTexts, .length = *length};
  }
}

/// Number of texts of such a request.
template <typename Message>
std::int64_t NumTexts(const Message& message) {
  if constexpr (requires { message.messages(); }) {
    return 1;
  } else {
    return message.input_size();
  }
}

/// See RowsBound and TokensBound.
template <typename Message>
std::int64_t NumRowsBound(const Message& message, const proto::ModelConfig& config) {
  if constexpr (requires { message.messages(); }) {
    return std::min(TokensBound(message.messages()), config.max_position_embeddings);
  } else {
    return RowsBound(InputsOf(ViewsOf(message.input())), config);
  }
}

}  // namespace scorecast::coordinator
