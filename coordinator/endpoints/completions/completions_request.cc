#include "coordinator/endpoints/completions/completions_request.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "coordinator/endpoints/completions/completion_logprobs.h"
#include "coordinator/endpoints/completions/completions_readout.h"
#include "coordinator/endpoints/generation_fields.h"
#include "coordinator/endpoints/prompt_completions.h"
#include "coordinator/endpoints/prompt_sequence.h"
#include "coordinator/endpoints/prompt_tokens.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/generate/token_texts.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;
using CompletionsMessage = v1::CompletionsRequest;

constexpr std::int64_t kDefaultMaxTokens = 16;

proto::LabelList ListOf(const v1::TokenIds& ids) {
  return std::vector<TokenId>(ids.ids().begin(), ids.ids().end());
}

GenerationFields FieldsOf(const CompletionsMessage& message, const std::string& max_field,
                          const proto::GenerationConfig& defaults) {
  const std::int64_t max_tokens =
      message.has_max_tokens()
          ? message.max_tokens()
          : std::min(defaults.max_new_tokens.value_or(kDefaultMaxTokens), kDefaultMaxTokens);
  GenerationFields fields = GenerationFieldsOf(message, max_tokens, max_field);
  SetDefaults(message, defaults, fields);
  return fields;
}

/// Whether the request itself has a field that counts instead of the model's default.
bool IsGiven(const CompletionsMessage& message, const std::string& name) {
  const google::protobuf::FieldDescriptor* const field =
      CompletionsMessage::descriptor()->FindFieldByName(name);
  if (field == nullptr) {
    return false;
  }
  const google::protobuf::Reflection& fields = *message.GetReflection();
  return field->is_repeated() ? fields.FieldSize(message, field) > 0
                              : fields.HasField(message, field);
}

/// The 400 of a completion that needs a default of the model that is not supported.
std::optional<Error> DefaultsFault(const CompletionsMessage& message,
                                   const GenerationFields& fields,
                                   const proto::GenerationConfig& defaults) {
  if (!fields.generates()) {
    return std::nullopt;
  }
  const bool is_greedy = fields.temperature < SamplingOptions::kLeastTemperature;
  for (const proto::GenerationConfig::Unsupported& one : defaults.unsupported) {
    const bool is_needed = !(one.is_of_draws && is_greedy) &&
                           (one.request_field.empty() || !IsGiven(message, one.request_field));
    if (is_needed) {
      const std::string way =
          one.request_field.empty() ? "" : "give " + one.request_field + ", or ";
      return BadRequest("unsupported_default",
                        "The model's generation_config.json cannot be followed: " + one.Text() +
                            " (" + way + "start the server with --generation-config none).",
                        one.request_field.empty() ? one.key : one.request_field);
    }
  }
  return std::nullopt;
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
  if (message.echo() && message.has_truncate_prompt_tokens()) {
    return BadRequest("not_supported",
                      "echo is not supported with truncate_prompt_tokens: the text that belongs to "
                      "the tokens that are kept is not known.",
                      "echo");
  }
  const bool has_ids = std::ranges::any_of(
      message.prompt(), [](const v1::TextOrIds& prompt) { return prompt.has_ids(); });
  return message.echo() && has_ids && context.tokenizer == nullptr && !message.has_logprobs()
             ? std::optional(BadRequest("no_tokenizer",
                                        "This model has no tokenizer: the text of "
                                        "a prompt of ids is not known.",
                                        "echo"))
             : std::nullopt;
}

/// Bytes of a token's place in `logprobs`, with `most` entries.
std::int64_t LogprobsBytes(std::int64_t most) {
  constexpr std::int64_t kSpellingBytes = 2 + kTextBytesPerToken;
  const std::int64_t entries = std::clamp<std::int64_t>(most, 0, kMostLogprobTokenIds) + 1;
  return kSpellingBytes + 2 * kListBytes + 2 * kNumberBytes +
         entries * (kSpellingBytes + kNumberBytes);
}

/// Bytes of a token's place in `prompt_logprobs`.
std::int64_t RankedBytes(std::int64_t most) {
  constexpr std::int64_t kKeyBytes = 2 + 10;
  const std::int64_t entries = std::clamp<std::int64_t>(most, 0, kMostLogprobs) + 1;
  return kListBytes + entries * (kKeyBytes + kListBytes + 2 * kNumberBytes + kTextBytesPerToken);
}

/// The 400 of ids whose log-probabilities are asked for.
std::optional<Error> NamedTokensFault(const v1::TokenIds& named, const std::string& field,
                                      std::int64_t vocab_size) {
  const std::span<const TokenId> ids = ViewOf(named);
  if (std::cmp_greater(ids.size(), kMostLogprobTokenIds)) {
    return BadRequest("too_many_" + field,
                      "Too many ids: " + std::to_string(ids.size()) + " > " +
                          std::to_string(kMostLogprobTokenIds) + ".",
                      field);
  }
  const std::set<TokenId> distinct(ids.begin(), ids.end());
  if (distinct.size() < ids.size()) {
    return BadRequest("duplicate_token_id", field + " must not have an id twice.", field);
  }
  return VocabularyFault(ids, field, vocab_size);
}

std::optional<Error> LogprobsRangeFault(const CompletionsMessage& message,
                                        std::int64_t vocab_size) {
  const auto fault = [](const char* field, std::int64_t value) {
    return value >= 0 && value <= kMostLogprobs
               ? std::nullopt
               : std::optional(OutOfRange(field, "from 0 to " + std::to_string(kMostLogprobs) +
                                                     ", not " + std::to_string(value)));
  };
  if (auto of_tokens = fault("logprobs", message.logprobs())) {
    return of_tokens;
  }
  if (auto of_prompt = fault("prompt_logprobs", message.prompt_logprobs())) {
    return of_prompt;
  }
  for (const auto& [field, ids] :
       {std::pair("logprob_token_ids", &message.logprob_token_ids()),
        std::pair("prompt_logprob_token_ids", &message.prompt_logprob_token_ids())}) {
    if (auto named = NamedTokensFault(*ids, field, vocab_size)) {
      return named;
    }
  }
  if (message.logprob_token_ids().ids_size() > 0 && !message.has_logprobs()) {
    return BadRequest("logprob_token_ids_without_logprobs", "logprob_token_ids needs logprobs.",
                      "logprob_token_ids");
  }
  if (message.logprob_token_ids().ids_size() > 0 && message.max_tokens() == 0 &&
      message.has_max_tokens()) {
    return BadRequest("not_supported",
                      "logprob_token_ids is not supported with max_tokens 0: "
                      "prompt_logprob_token_ids is for tokens of prompts.",
                      "logprob_token_ids");
  }
  const std::string start = "prompt_logprob_start";
  if (message.prompt_logprob_start() < 0) {
    return OutOfRange(start, "at least 0, not " + std::to_string(message.prompt_logprob_start()));
  }
  const bool has_prompts = message.has_prompt_logprobs() ||
                           message.prompt_logprob_token_ids().ids_size() > 0 ||
                           (message.echo() && message.has_logprobs());
  if (message.prompt_logprob_start() > 0 && !has_prompts) {
    return BadRequest("prompt_logprob_start_without_logprobs",
                      start +
                          " needs prompt_logprobs, prompt_logprob_token_ids, or echo with "
                          "logprobs.",
                      start);
  }
  return std::nullopt;
}

/// The 400 of what a stream cannot have, because only tokens that are generated are sent.
std::optional<Error> StreamFault(const CompletionsMessage& message) {
  if (!message.stream()) {
    return message.has_stream_options()
               ? std::optional(BadRequest("stream_options_without_stream",
                                          "stream_options need stream: true.", "stream_options"))
               : std::nullopt;
  }
  const auto unsupported = [](const std::string& what, const std::string& field) {
    return BadRequest("not_supported", what + " is not supported in a stream.", field);
  };
  if (message.has_max_tokens() && message.max_tokens() == 0) {
    return unsupported("max_tokens 0", "stream");
  }
  if (message.has_prompt_logprobs()) {
    return unsupported("prompt_logprobs", "prompt_logprobs");
  }
  if (message.prompt_logprob_token_ids().ids_size() > 0) {
    return unsupported("prompt_logprob_token_ids", "prompt_logprob_token_ids");
  }
  if (message.echo() && message.has_logprobs()) {
    return unsupported("logprobs with echo", "logprobs");
  }
  return std::nullopt;
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
  if (auto fault = GenerationFault(fields, /*least_tokens=*/0, context)) {
    return fault;
  }
  if (auto fault = DefaultsFault(message, fields, context.options.generation)) {
    return fault;
  }
  if (auto fault = LogprobsRangeFault(message, context.config.vocab_size)) {
    return fault;
  }
  if (message.has_truncate_prompt_tokens()) {
    if (auto fault = TruncatePromptTokensFault(message.truncate_prompt_tokens())) {
      return fault;
    }
  }
  if (auto fault = StreamFault(message)) {
    return fault;
  }
  return EchoFault(message, context);
}

/// "prompt[1]", or "prompt" if there is only one.
std::string PromptField(const CompletionsMessage& message, int index, const std::string& field) {
  return message.prompt_size() == 1 ? field : At(field, static_cast<std::size_t>(index));
}

PromptParts PartsOf(const CompletionsRequest& request, int index, const CompletionsForm& form,
                    ChunkPositionStrategy strategy, const ChunkOptions& options) {
  const CompletionsMessage& message = request.message;
  ChunkOptions own = options;
  own.enable_chunk_aware = options.enable_chunk_aware && message.chunk_aware();
  PromptParts parts = PartsOfPrompt(ViewOf(message.prompt(index)),
                                    PromptField(message, index, form.prompt_field), own);
  if (form.split) {
    parts.chunks.assign(form.split->chunks.begin(), form.split->chunks.end());
    parts.questions = {form.split->question};
  }
  if (message.chunk_groups_size() > 0 ||
      request.IsEmptyList(CompletionsMessage::kChunkGroupsFieldNumber)) {
    parts.chunk_groups = std::span(message.chunk_groups().data(), SizeOf(message.chunk_groups()));
  }
  parts.strategy = strategy;
  parts.adds_special_tokens = message.add_special_tokens();
  if (message.has_truncate_prompt_tokens()) {
    parts.truncate_to = message.truncate_prompt_tokens();
  }
  parts.can_be_truncated =
      form.prompt_field == "prompt" && !message.echo() && parts.questions.empty();
  return parts;
}

/// The text of a prompt, with which its completions begin. That of ids is empty without a
/// tokenizer.
std::string EchoOf(const CompletionsMessage& message, int index, const RequestContext& context) {
  const TextOrIds prompt = ViewOf(message.prompt(index));
  if (IsText(prompt)) {
    return std::string(Text(prompt));
  }
  if (context.tokenizer == nullptr) {
    return "";
  }
  std::vector<TokenId> ids = CopiedIds(prompt);
  if (std::cmp_greater(ids.size(), context.config.max_position_embeddings)) {
    return "";  // The prompt is refused.
  }
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
  if ((readout.echoes || readout.PromptReads()) && !tokens->questions.empty()) {
    std::string field = "prompt_logprob_token_ids";
    if (readout.echoes || readout.prompt_logprobs) {
      field = readout.echoes ? "echo" : "prompt_logprobs";
    }
    return BadRequest("not_supported",
                      field + " is not supported for a prompt that is split at separators.", field);
  }
  Expected<PromptSequence> prompt = PackPrompt(parts, *tokens, n, fields.max_field, context);
  if (!prompt) {
    return std::move(prompt).error();
  }
  prompt->sequence.block_weighting = WeightingOf(fields);
  RepeatedPrompt& repeated = readout.prompts.emplace_back(
      RepeatedPrompt{.field = parts.names.front(), .echo = options.echo});
  if (const std::optional<PromptRows> read = readout.PromptReads()) {
    AddPromptReads(*read, prompt->sequence);
    repeated.tokens = prompt->sequence.AllTokens();
    repeated.is_text = IsText(parts.system_prompt);
  }
  if (auto fault = PromptCapacityFault(*prompt, parts, context)) {
    return fault;
  }
  readout.prompt_tokens += prompt->prompt_tokens;
  for (Generation& generation : prompt->generations) {
    generation.sequence = prepared.sequences.size();
    if (auto fault = readout.completions.Add(prompt->sequence, options, parts.names.front(),
                                             context, on_delta, generation)) {
      return fault;
    }
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
  return CompletePrompts(std::move(request),
                         {.id_prefix = "cmpl-",
                          .prompt_field = "prompt",
                          .max_field = "max_tokens",
                          .response = v1::TextCompletion::descriptor(),
                          .last_event = v1::TextCompletion::descriptor(),
                          .chunk = v1::TextCompletionChunk::descriptor()},
                         context, on_delta);
}

Expected<PreparedRequest> CompletePrompts(CompletionsRequest request, const CompletionsForm& form,
                                          const RequestContext& context, const OnDelta& on_delta) {
  const CompletionsMessage& message = request.message;
  const GenerationFields fields = FieldsOf(message, form.max_field, context.options.generation);
  if (auto fault = FieldFault(request, fields, context)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<ChunkPositionStrategy> strategy = PositionStrategy(fields, context.options.chunks);
  if (!strategy) {
    return Unexpected(strategy.error());
  }
  auto readout = std::make_shared<CompletionsReadout>();
  readout->identity = {.id = ResponseId(form.id_prefix, request.identity),
                       .created = CreatedTime(request.identity),
                       .has_token_ids = message.return_token_ids(),
                       .role = form.role};
  const std::span<const TokenId> named = ViewOf(message.logprob_token_ids());
  if (message.has_logprobs()) {
    readout->identity.logprobs = message.logprobs();
    readout->identity.entries =
        named.empty() ? message.logprobs() : static_cast<std::int64_t>(named.size());
  }
  if (message.has_prompt_logprobs()) {
    readout->prompt_logprobs = message.prompt_logprobs();
  }
  if (message.has_logprobs() || message.has_prompt_logprobs()) {
    readout->identity.texts =
        std::make_shared<const TokenTexts>(context.tokenizer, message.return_tokens_as_token_ids());
  }
  readout->prompt_logprob_start = message.prompt_logprob_start();
  readout->prompt_logprob_token_ids = ListOf(message.prompt_logprob_token_ids());
  readout->completions_per_prompt = static_cast<std::size_t>(message.n());
  readout->echoes = message.echo();
  readout->tokenizer = context.tokenizer;
  readout->skip_special_tokens = message.skip_special_tokens();
  readout->streams = message.stream();
  readout->has_last_event = message.stream_options().include_usage();
  readout->description = message.stream() ? form.last_event : form.response;
  Expected<CompletionOptions> options =
      CompletionOptionsOf(fields, GivenSeed(message), request.default_seed, context);
  if (!options) {
    return Unexpected(std::move(options).error());
  }
  options->skip_special_tokens = message.skip_special_tokens();
  options->logprobs = readout->identity.logprobs;
  options->logprob_token_ids = ListOf(message.logprob_token_ids());
  readout->seed = options->sampling.seed;
  readout->completions.SetSent(request.sent);
  PreparedRequest prepared;
  // An id counts as kTextBytesPerToken, but may have a longer text.
  const std::int64_t most_echo_bytes = CompletionsResponseBytesBound(request, context.config);
  std::int64_t echo_bytes = 0;
  for (int i = 0; i < message.prompt_size(); ++i) {
    if (auto fault = StopFault(context.interruption)) {
      return Unexpected(*std::move(fault));
    }
    PromptParts parts = PartsOf(request, i, form, *strategy, context.options.chunks);
    parts.max_new_tokens = fields.max_new_tokens;
    options->echo = message.echo() ? EchoOf(message, i, context) : std::string();
    echo_bytes += message.n() * std::ssize(options->echo);
    if (echo_bytes > most_echo_bytes) {
      return Unexpected(Error{413, "answer_too_large",
                              "The texts of the prompts' ids are too long to be repeated in each "
                              "completion.",
                              "echo"});
    }
    if (auto fault = AddPrompt(parts, fields, message.n(), *options, context, on_delta, prepared,
                               *readout)) {
      return Unexpected(*std::move(fault));
    }
  }
  std::set<std::size_t> begun;
  for (const auto& [output, position] : request.sent) {
    begun.insert(output);
  }
  prepared.form_delta = [identity = readout->identity, chunk = form.chunk,
                         begun = std::move(begun)](std::size_t output,
                                                   CompletionDelta delta) mutable {
    const bool begins = identity.is_chat() && begun.insert(output).second;
    return FormCompletionsDelta(identity, output, std::move(delta), begins, *chunk);
  };
  prepared.readout = std::move(readout);
  return prepared;
}

std::int64_t CompletionBytesBound(std::int64_t max_tokens, std::int64_t other_token_bytes) {
  // Requests for more are refused later.
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;
  // Tags, index, lengths and finish_reason, and in a delta also the id, the time and the frame.
  constexpr std::int64_t kChoiceBytes = 160;
  return kChoiceBytes + std::clamp<std::int64_t>(max_tokens, 0, kMostTokens) *
                            (kTextBytesPerToken + other_token_bytes);
}

std::int64_t CompletionsResponseBytesBound(const CompletionsRequest& request,
                                           const proto::ModelConfig& config) {
  const CompletionsMessage& message = request.message;
  constexpr std::int64_t kMostPrompts = std::int64_t{1} << 20;
  const std::int64_t prompt_bytes = message.has_logprobs() ? LogprobsBytes(message.logprobs()) : 0;
  const std::int64_t logprob_bytes =
      message.has_logprobs() ? LogprobsBytes(std::max<std::int64_t>(
                                   message.logprobs(), message.logprob_token_ids().ids_size()))
                             : 0;
  const std::int64_t max_tokens =
      message.has_max_tokens() ? message.max_tokens() : kDefaultMaxTokens;
  const std::int64_t choice = CompletionBytesBound(
      max_tokens, (message.return_token_ids() ? kTokenIdBytes : 0) + logprob_bytes);
  const std::int64_t named = message.prompt_logprob_token_ids().ids_size();
  const std::int64_t prompt_token_bytes =
      (message.echo() ? prompt_bytes : 0) +
      (message.has_prompt_logprobs() ? RankedBytes(message.prompt_logprobs()) : 0) +
      (named > 0 ? kListBytes + named * kNumberBytes : 0);
  std::int64_t bytes = std::min<std::int64_t>(message.prompt_size(), kMostPrompts) * choice;
  for (const v1::TextOrIds& prompt : message.prompt()) {
    if (message.echo()) {
      bytes += prompt.has_ids() ? prompt.ids().ids_size() * kTextBytesPerToken
                                : EscapedTextBytes(prompt.text());
    }
    // A text has at most as many tokens as bytes, and BOS.
    const std::int64_t tokens = prompt.has_ids()
                                    ? prompt.ids().ids_size()
                                    : static_cast<std::int64_t>(prompt.text().size()) + 1;
    bytes += std::min(tokens, config.max_position_embeddings) * prompt_token_bytes;
  }
  return kOtherBytes + std::clamp<std::int64_t>(message.n(), 1, kMostCompletions) * bytes;
}

}  // namespace scorecast::coordinator
