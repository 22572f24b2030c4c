#include "coordinator/endpoints/completions/completions_request.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/generation_fields.h"
#include "coordinator/endpoints/prompt_completions.h"
#include "coordinator/endpoints/prompt_sequence.h"
#include "coordinator/endpoints/prompt_tokens.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;
using CompletionsMessage = v1::CompletionsRequest;

constexpr std::int64_t kMostCompletions = 128;
constexpr std::int64_t kDefaultMaxTokens = 16;

/// What the response and its deltas have in common.
struct CompletionsIdentity {
  std::string id;
  std::int64_t created = 0;
  bool has_token_ids = false;

  template <typename Message>
  void Set(Message& message) const {
    message.set_id(id);
    message.set_created(created);
  }

  /// Adds a completion, or a part of one, and takes its text.
  template <typename Message>
  void Add(std::size_t index, std::string text, const std::vector<TokenId>& token_ids,
           const std::optional<FinishReason>& reason, Message& message) const {
    v1::Completion& choice = *message.add_choices();
    choice.set_index(static_cast<std::int64_t>(index));
    choice.set_text(std::move(text));
    if (has_token_ids) {
      choice.mutable_token_ids()->Assign(token_ids.begin(), token_ids.end());
    }
    if (reason) {
      choice.set_finish_reason(Name(*reason));
    }
  }
};

struct CompletionsReadout : Readout {
  CompletionsIdentity identity;
  PromptCompletions completions;
  std::optional<std::uint64_t> seed;
  std::size_t num_prompts = 0;
  bool streams = false;
  bool has_last_event = false;  ///< Of a stream.

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& /*rows*/) override {
    const Expected<std::vector<const CompletionOutput*>> outputs = completions.Outputs();
    if (!outputs) {
      return Unexpected(outputs.error());
    }
    auto message = std::make_unique<v1::CompletionsResponse>();
    identity.Set(*message);
    for (std::size_t i = 0; i < outputs->size() && !streams; ++i) {
      const CompletionOutput& output = *(*outputs)[i];
      identity.Add(i, output.text, output.token_ids, output.finish_reason, *message);
    }
    message->mutable_usage()->set_completion_tokens(completions.num_tokens());
    if (seed) {
      message->set_seed(static_cast<std::int64_t>(*seed));
    }
    auto response =
        std::make_unique<EndpointResponse>(std::move(message), v1::TextCompletion::descriptor());
    if (streams && !has_last_event) {
      response->SetNoEvent();
    }
    return response;
  }
  std::string Summary() const override { return proto::Count(num_prompts, "prompt"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(num_prompts); }
};

GenerationFields FieldsOf(const CompletionsMessage& message,
                          const proto::GenerationConfig& defaults) {
  const std::int64_t max_tokens =
      message.has_max_tokens()
          ? message.max_tokens()
          : std::min(defaults.max_new_tokens.value_or(kDefaultMaxTokens), kDefaultMaxTokens);
  GenerationFields fields = GenerationFieldsOf(message, max_tokens, "max_tokens");
  SetDefaults(message, defaults, fields);
  return fields;
}

std::optional<Error> CountFault(const CompletionsMessage& message, std::int64_t max_items) {
  if (message.prompt_size() == 0) {
    return BadRequest("empty_prompt", "prompt must be a nonempty list.", "prompt");
  }
  if (message.prompt_size() > max_items) {
    return BadRequest("too_many_prompts",
                      "Too many prompts: " + Exceeds(message.prompt_size(), max_items) + ".",
                      "prompt");
  }
  if (message.n() < 1 || message.n() > kMostCompletions) {
    return OutOfRange("n", "from 1 to " + std::to_string(kMostCompletions) + ", not " +
                               std::to_string(message.n()));
  }
  if (message.has_best_of() && message.best_of() != message.n()) {
    return BadRequest("not_supported",
                      "best_of must be n: completions are not ranked by this server.", "best_of");
  }
  return std::nullopt;
}

std::optional<Error> EchoFault(const CompletionsMessage& message, const RequestContext& context) {
  const bool has_ids = std::ranges::any_of(
      message.prompt(), [](const v1::TextOrIds& prompt) { return prompt.has_ids(); });
  return message.echo() && has_ids && context.tokenizer == nullptr
             ? std::optional(BadRequest("no_tokenizer",
                                        "This model has no tokenizer: the text of "
                                        "a prompt of ids is not known.",
                                        "echo"))
             : std::nullopt;
}

std::optional<Error> FieldFault(const CompletionsRequest& request, const GenerationFields& fields,
                                const RequestContext& context) {
  const CompletionsMessage& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return fault;
  }
  if (auto fault = CountFault(message, context.options.max_items)) {
    return fault;
  }
  if (auto fault = WeightingFault(fields)) {
    return fault;
  }
  if (auto fault = GenerationFault(fields, /*least_tokens=*/1, context)) {
    return fault;
  }
  if (message.has_truncate_prompt_tokens()) {
    if (auto fault = TruncatePromptTokensFault(message.truncate_prompt_tokens())) {
      return fault;
    }
  }
  if (message.has_stream_options() && !message.stream()) {
    return BadRequest("stream_options_without_stream", "stream_options need stream: true.",
                      "stream_options");
  }
  return EchoFault(message, context);
}

/// "prompt[1]", or "prompt" if there is only one.
std::string PromptField(const CompletionsMessage& message, int index) {
  return message.prompt_size() == 1 ? "prompt" : At("prompt", static_cast<std::size_t>(index));
}

PromptParts PartsOf(const CompletionsRequest& request, int index, ChunkPositionStrategy strategy,
                    const ChunkOptions& options) {
  const CompletionsMessage& message = request.message;
  ChunkOptions own = options;
  own.enable_chunk_aware = options.enable_chunk_aware && message.chunk_aware();
  PromptParts parts =
      PartsOfPrompt(ViewOf(message.prompt(index)), PromptField(message, index), own);
  if (message.chunk_groups_size() > 0 ||
      request.IsEmptyList(CompletionsMessage::kChunkGroupsFieldNumber)) {
    parts.chunk_groups = std::span(message.chunk_groups().data(), SizeOf(message.chunk_groups()));
  }
  parts.strategy = strategy;
  parts.adds_special_tokens = message.add_special_tokens();
  if (message.has_truncate_prompt_tokens()) {
    parts.truncate_to = message.truncate_prompt_tokens();
  }
  return parts;
}

/// The text of a prompt, with which its completions begin.
std::string EchoOf(const CompletionsMessage& message, int index, const RequestContext& context) {
  const TextOrIds prompt = ViewOf(message.prompt(index));
  if (IsText(prompt)) {
    return std::string(Text(prompt));
  }
  std::vector<TokenId> ids = CopiedIds(prompt);
  if (message.skip_special_tokens()) {
    std::erase_if(ids, [&](TokenId id) { return context.tokenizer->IsSpecial(id); });
  }
  return context.tokenizer->Decode(ids);
}

/// vLLM's clients give -1 if they want a seed to be drawn.
std::optional<std::uint64_t> GivenSeed(const CompletionsMessage& message) {
  return message.has_seed() && message.seed() != -1
             ? std::optional(static_cast<std::uint64_t>(message.seed()))
             : std::nullopt;
}

/// Adds a prompt with its completions.
std::optional<Error> AddPrompt(const PromptParts& parts, const GenerationFields& fields,
                               std::int64_t n, CompletionOptions options,
                               const RequestContext& context, const OnDelta& on_delta,
                               PreparedRequest& prepared, CompletionsReadout& readout) {
  if (parts.truncate_to && !parts.questions.empty()) {
    return BadRequest("not_supported",
                      "truncate_prompt_tokens is not supported for a prompt that is split at "
                      "separators.",
                      "truncate_prompt_tokens");
  }
  const Expected<PromptTokens> tokens = TokenizePrompt(parts, context);
  if (!tokens) {
    return tokens.error();
  }
  if (!options.echo.empty() && !tokens->questions.empty()) {
    return BadRequest("not_supported",
                      "echo is not supported for a prompt that is split at separators.", "echo");
  }
  Expected<PromptSequence> prompt = PackPrompt(parts, *tokens, n, fields.max_field, context);
  if (!prompt) {
    return std::move(prompt).error();
  }
  prompt->sequence.block_weighting = WeightingOf(fields);
  if (auto fault = PromptCapacityFault(*prompt, parts, context)) {
    return fault;
  }
  readout.prompt_tokens += prompt->prompt_tokens;
  for (Generation& generation : prompt->generations) {
    generation.sequence = prepared.sequences.size();
    readout.completions.Add(prompt->sequence, options, parts.names.front(), context, on_delta,
                            generation);
    // Completion i is the one that the seed + i alone gives, as in vLLM.
    if (options.sampling.seed) {
      ++*options.sampling.seed;
    }
    prepared.generations.push_back(std::move(generation));
  }
  prepared.sequences.push_back(std::move(prompt->sequence));
  return std::nullopt;
}

}  // namespace

Expected<PreparedRequest> PrepareCompletions(CompletionsRequest request,
                                             const RequestContext& context,
                                             const OnDelta& on_delta) {
  const CompletionsMessage& message = request.message;
  const GenerationFields fields = FieldsOf(message, context.options.generation);
  if (auto fault = FieldFault(request, fields, context)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<ChunkPositionStrategy> strategy = PositionStrategy(fields, context.options.chunks);
  if (!strategy) {
    return Unexpected(strategy.error());
  }
  auto readout = std::make_shared<CompletionsReadout>();
  readout->identity = {.id = ResponseId("cmpl-", request.identity),
                       .created = CreatedTime(request.identity),
                       .has_token_ids = message.return_token_ids()};
  readout->num_prompts = SizeOf(message.prompt());
  readout->streams = message.stream();
  readout->has_last_event = message.stream_options().include_usage();
  Expected<CompletionOptions> options =
      CompletionOptionsOf(fields, GivenSeed(message), request.default_seed, context);
  if (!options) {
    return Unexpected(std::move(options).error());
  }
  options->skip_special_tokens = message.skip_special_tokens();
  readout->seed = options->sampling.seed;
  PreparedRequest prepared;
  for (int i = 0; i < message.prompt_size(); ++i) {
    if (auto fault = StopFault(context.interruption)) {
      return Unexpected(*std::move(fault));
    }
    PromptParts parts = PartsOf(request, i, *strategy, context.options.chunks);
    parts.max_new_tokens = fields.max_new_tokens;
    options->echo = message.echo() ? EchoOf(message, i, context) : std::string();
    if (auto fault = AddPrompt(parts, fields, message.n(), *options, context, on_delta, prepared,
                               *readout)) {
      return Unexpected(*std::move(fault));
    }
  }
  prepared.form_delta = [identity = readout->identity](std::size_t output, CompletionDelta delta) {
    auto part = std::make_unique<v1::CompletionsDelta>();
    identity.Set(*part);
    identity.Add(output, std::move(delta.text), delta.token_ids, delta.finish_reason, *part);
    return std::make_unique<EndpointResponse>(std::move(part),
                                              v1::TextCompletionChunk::descriptor());
  };
  prepared.readout = std::move(readout);
  return prepared;
}

std::int64_t CompletionsResponseBytesBound(const CompletionsRequest& request,
                                           const proto::ModelConfig& /*config*/) {
  const CompletionsMessage& message = request.message;
  constexpr std::int64_t kIdBytes = 5;
  // Requests for more are refused later.
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
  constexpr std::int64_t kMostPrompts = std::int64_t{1} << 20;
  // Tags, index, lengths and finish_reason, and in a delta also the id, the time and the frame.
  constexpr std::int64_t kChoiceBytes = 160;
  const std::int64_t token_bytes = kTextBytesPerToken + (message.return_token_ids() ? kIdBytes : 0);
  const std::int64_t max_tokens =
      message.has_max_tokens() ? message.max_tokens() : kDefaultMaxTokens;
  const std::int64_t choice =
      kChoiceBytes + std::clamp<std::int64_t>(max_tokens, 0, kMostTokens) * token_bytes;
  std::int64_t bytes = std::min<std::int64_t>(message.prompt_size(), kMostPrompts) * choice;
  for (const v1::TextOrIds& prompt : message.prompt()) {
    if (message.echo()) {
      bytes += prompt.has_ids() ? prompt.ids().ids_size() * kTextBytesPerToken
                                : EscapedTextBytes(prompt.text());
    }
  }
  return kOtherBytes + std::clamp<std::int64_t>(message.n(), 1, kMostCompletions) * bytes;
}

}  // namespace scorecast::coordinator
