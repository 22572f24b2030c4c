#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/completions/completion_logprobs.h"
#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/endpoint_response.h"
#include "coordinator/endpoints/prompt_completions.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/generate/token_texts.h"
#include "proto/base/expected.h"

namespace google::protobuf {
class Descriptor;
}

namespace scorecast::coordinator {

/// What the response and its deltas have in common.
struct CompletionsIdentity {
  std::string id;
  std::int64_t created = 0;
  bool has_token_ids = false;
  std::string role;  ///< CompletionsForm::role.
  std::optional<std::int64_t> logprobs;
  /// How many entries a generated token has: `logprobs`, or the number of ids that the request
  /// names.
  std::int64_t entries = 0;
  std::shared_ptr<const TokenTexts> texts;  ///< Set if there are log-probabilities.

  /// Whether a completion is a message of a conversation.
  bool is_chat() const { return !role.empty(); }
};

/// A prompt, as far as the response repeats it.
struct RepeatedPrompt {
  std::string field;            ///< Its name in the request.
  std::string echo;             ///< Text with which the completions begin.
  std::vector<TokenId> tokens;  ///< Empty unless their log-probabilities are returned.
  bool is_text = false;
};

struct CompletionsReadout : Readout {
  CompletionsIdentity identity;
  PromptCompletions completions;  ///< None if no tokens are generated.
  std::vector<RepeatedPrompt> prompts;
  std::size_t completions_per_prompt = 1;
  std::optional<std::uint64_t> seed;
  bool echoes = false;
  std::optional<std::int64_t> prompt_logprobs;
  std::int64_t prompt_logprob_start = 0;
  proto::LabelList prompt_logprob_token_ids;
  const Tokenizer* tokenizer = nullptr;
  bool skip_special_tokens = false;
  bool streams = false;
  bool has_last_event = false;                                ///< Of a stream.
  const google::protobuf::Descriptor* description = nullptr;  ///< Of the JSON.

  /// What is read of the prompts' rows, if anything.
  std::optional<PromptRows> PromptReads() const;

  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override;
  std::string Summary() const override;
  std::int64_t Items() const override { return static_cast<std::int64_t>(prompts.size()); }
};

/// See PreparedRequest::form_delta. `begins`: it is the first one of its completion.
std::unique_ptr<EndpointResponse> FormCompletionsDelta(
    const CompletionsIdentity& identity, std::size_t output, CompletionDelta delta, bool begins,
    const google::protobuf::Descriptor& description);

}  // namespace scorecast::coordinator
