#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class TokenizeChatRequest;
class TokenizeInputsRequest;
class TokenizePromptRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

// The requests to /tokenize: see EndpointRequest.

/// vLLM's: the tokens of one text.
proto::Expected<PreparedRequest> PrepareTokenizePrompt(
    MessageRequest<v1::TokenizePromptRequest> request, const RequestContext& context,
    const OnDelta& on_delta);
std::int64_t TokenizePromptResponseBytesBound(
    const MessageRequest<v1::TokenizePromptRequest>& request, const proto::ModelConfig& config);

/// vLLM's: the tokens of a conversation.
proto::Expected<PreparedRequest> PrepareTokenizeChat(
    MessageRequest<v1::TokenizeChatRequest> request, const RequestContext& context,
    const OnDelta& on_delta);
std::int64_t TokenizeChatResponseBytesBound(const MessageRequest<v1::TokenizeChatRequest>& request,
                                            const proto::ModelConfig& config);

/// TEI's: the tokens of texts, with their places.
proto::Expected<PreparedRequest> PrepareTokenizeInputs(
    MessageRequest<v1::TokenizeInputsRequest> request, const RequestContext& context,
    const OnDelta& on_delta);
std::int64_t TokenizeInputsResponseBytesBound(
    const MessageRequest<v1::TokenizeInputsRequest>& request, const proto::ModelConfig& config);

}  // namespace scorecast::coordinator
