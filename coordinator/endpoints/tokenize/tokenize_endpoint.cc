#include "coordinator/endpoints/tokenize/tokenize_endpoint.h"

#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/endpoints/tokenize/detokenize_request.h"
#include "coordinator/endpoints/tokenize/tokenize_request.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

const Endpoint& TokenizeEndpoint() {
  static const MessageEndpoint endpoint(
      "tokenize", {"/tokenize"},
      {&FormOf(*v1::TokenizeResponse::descriptor()),
       &FormOf(*v1::TeiTokenizeResponse::descriptor())},
      RequestFormOf<v1::TokenizePromptRequest>(
          {PrepareTokenizePrompt, TokenizePromptResponseBytesBound}),
      RequestFormOf<v1::TokenizeChatRequest>({PrepareTokenizeChat, TokenizeChatResponseBytesBound}),
      RequestFormOf<v1::TokenizeInputsRequest>(
          {PrepareTokenizeInputs, TokenizeInputsResponseBytesBound}));
  return endpoint;
}

const Endpoint& DetokenizeEndpoint() {
  static const MessageEndpoint endpoint(
      "detokenize", {"/detokenize", "/decode"},
      {&FormOf(*v1::DetokenizeResponse::descriptor()),
       &FormOf(*v1::TeiDetokenizeResponse::descriptor())},
      RequestFormOf<v1::DetokenizeTokensRequest>(
          {PrepareDetokenizeTokens, DetokenizeTokensResponseBytesBound}),
      RequestFormOf<v1::DetokenizeIdsRequest>(
          {PrepareDetokenizeIds, DetokenizeIdsResponseBytesBound}));
  return endpoint;
}

}  // namespace scorecast::coordinator
