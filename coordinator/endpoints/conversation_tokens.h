#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/chat/marked_text.h"
#include "coordinator/endpoints/message_request.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/values.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// The conversation of a request that is like v1::ConversationOptions. Must not outlive it.
struct GivenConversation {
  const google::protobuf::RepeatedPtrField<v1::ChatMessage>& messages;
  const google::protobuf::RepeatedPtrField<v1::ChatTemplateArgument>& arguments;
  bool add_generation_prompt = false;
  bool continue_final_message = false;
  std::int64_t time = 0;  ///< See Conversation.
};

template <typename Message>
GivenConversation ConversationOf(const MessageRequest<Message>& request) {
  const Message& message = request.message;
  return {message.messages(), message.chat_template_kwargs(), message.add_generation_prompt(),
          message.continue_final_message(), CreatedTime(request.identity)};
}

/// The fault of a conversation that cannot be rendered, whatever its texts are: the server has no
/// template, there is no message, or fields contradict each other.
std::optional<proto::Error> ConversationFault(const GivenConversation& given,
                                              const RequestContext& context);

/// Checks a conversation that has no ConversationFault, and renders it by the server's template.
proto::Expected<MarkedText> RenderConversation(const GivenConversation& given,
                                               const RequestContext& context);

/// The tokens of a rendered conversation, or of a part of one that is not `at_start`. More than
/// `max_tokens` are a 400 "too_many_positions".
proto::Expected<std::vector<TokenId>> ConversationTokens(const MarkedText& text,
                                                         std::int64_t max_tokens,
                                                         const RequestContext& context,
                                                         bool at_start = true);

/// Upper bound on the tokens of a conversation of whose messages the template does not make more
/// than most templates do. A text has at most one token for each byte.
std::int64_t TokensBound(const google::protobuf::RepeatedPtrField<v1::ChatMessage>& messages);

/// All tokens of a request's conversation.
template <typename Message>
proto::Expected<std::vector<TokenId>> TokensOfConversation(const MessageRequest<Message>& request,
                                                           const RequestContext& context) {
  const GivenConversation given = ConversationOf(request);
  if (auto fault = ConversationFault(given, context)) {
    return proto::Unexpected(*std::move(fault));
  }
  const proto::Expected<MarkedText> text = RenderConversation(given, context);
  if (!text) {
    return proto::Unexpected(text.error());
  }
  return ConversationTokens(*text, EncodeLimits::kUnlimited, context);
}

}  // namespace scorecast::coordinator
