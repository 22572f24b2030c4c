#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/message_request.h"

namespace google::protobuf {
class Descriptor;
}

namespace scorecast::v1 {
class CompletionsRequest;
}

namespace scorecast::coordinator {

using CompletionsRequest = MessageRequest<v1::CompletionsRequest>;

inline constexpr std::int64_t kMostCompletions = 128;  ///< Of a prompt.
inline constexpr std::int64_t kMostLogprobs = 20;      ///< As in vLLM.
/// The most ids whose log-probabilities a request may ask for, as in vLLM.
inline constexpr std::int64_t kMostLogprobTokenIds = 128;

/// What follows a prompt of ids that is a system prompt.
struct SplitPromptIds {
  std::vector<std::vector<TokenId>> chunks;
  std::vector<TokenId> question;
};

/// What differs between the endpoints that complete prompts.
struct CompletionsForm {
  std::string_view id_prefix;
  std::string prompt_field;  ///< The name of the prompt in faults.
  std::string max_field;     ///< That of `max_tokens`.
  std::string role;          ///< Of the messages that completions are; empty if they are none.
  /// Set if the request's only prompt was taken apart.
  std::optional<SplitPromptIds> split = std::nullopt;
  // The JSON of a response, of the last event of a stream, and of the other events.
  const google::protobuf::Descriptor* response;
  const google::protobuf::Descriptor* last_event;
  const google::protobuf::Descriptor* chunk;
};

/// Checks, tokenizes and packs a request to /v1/completions: see EndpointRequest. There is one
/// sequence for each prompt, and `n` completions of each.
proto::Expected<PreparedRequest> PrepareCompletions(CompletionsRequest request,
                                                    const RequestContext& context,
                                                    const OnDelta& on_delta);

/// The same for a request that has been given to another endpoint.
proto::Expected<PreparedRequest> CompletePrompts(CompletionsRequest request,
                                                 const CompletionsForm& form,
                                                 const RequestContext& context,
                                                 const OnDelta& on_delta);

/// Upper bound on the bytes of a token's id in a response.
inline constexpr std::int64_t kTokenIdBytes = 5;

/// Upper bound on the bytes of one completion. `other_token_bytes` is what each token has besides
/// its text.
std::int64_t CompletionBytesBound(std::int64_t max_tokens, std::int64_t other_token_bytes);

/// See EndpointRequest::ResponseBytesBound. Counts kTextBytesPerToken for each token, although its
/// text may be longer.
std::int64_t CompletionsResponseBytesBound(const CompletionsRequest& request,
                                           const proto::ModelConfig& config);

}  // namespace scorecast::coordinator
