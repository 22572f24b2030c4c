#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/chunked/chunked_checks.h"
#include "coordinator/endpoints/chunked/chunked_readout.h"
#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/endpoints/generation_fields.h"
#include "coordinator/endpoints/prompt_sequence.h"
#include "coordinator/endpoints/prompt_tokens.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/prompts/sequence_ends.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/score_kind.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::PackedSequence;
using proto::RowRead;
using proto::Unexpected;

/// Labels may be omitted if the request wants a completion and no other field needs labels.
bool WantsLabels(const ChunkedRequest& own) {
  const v1::ChunkedRequest& request = own.message;
  return request.has_label_token_ids() || HasList(own, v1::ChunkedRequest::kLabelsFieldNumber) ||
         request.max_new_tokens() == 0 || request.apply_softmax() ||
         request.return_token_logprobs();
}

/// Empty if no labels are wanted.
Expected<proto::LabelList> Labels(const ChunkedRequest& request, const RequestContext& context) {
  if (!WantsLabels(request)) {
    return proto::LabelList();
  }
  GivenLabels given;
  if (request.message.has_label_token_ids()) {
    given.ids.emplace({ViewOf(request.message.label_token_ids())});
  }
  if (HasList(request, v1::ChunkedRequest::kLabelsFieldNumber)) {
    given.texts = ViewsOf(request.message.labels());
  }
  Expected<LabelLists> labels =
      ResolveLabels(given, 0, context.tokenizer, context.config, context.interruption,
                    /*otherwise=*/", or max_new_tokens for a text");
  if (!labels) {
    return Unexpected(std::move(labels).error());
  }
  return std::move(labels->lists.front());
}

RowReadout ReadoutOf(const ChunkedRequest& request, ScoreKind kind) {
  RowReadout readout;
  readout.scores = WantsLabels(request);
  readout.kind = kind;
  readout.temperature = request.message.label_temperature();
  readout.token_logprobs = request.message.return_token_logprobs();
  readout.top_logprobs = request.message.top_logprobs() > 0;
  return readout;
}

PromptParts PartsOfFields(const v1::ChunkedRequest& request) {
  PromptParts parts;
  parts.chunks = ViewsOf(request.chunks());
  if (request.has_question()) {
    parts.questions = {ViewOf(request.question())};
    parts.names = {"question"};
  } else {
    parts.questions = ViewsOf(request.questions());
    for (std::size_t i = 0; i < parts.questions.size(); ++i) {
      parts.names.push_back(At("questions", i));
    }
  }
  if (request.has_system_prompt()) {
    parts.system_prompt = ViewOf(request.system_prompt());
  } else if (parts.questions.empty() || !IsText(parts.questions.front())) {
    parts.system_prompt = std::span<const TokenId>();
  }
  return parts;
}

PromptParts PartsOf(const ChunkedRequest& own, const ChunkOptions& options) {
  const v1::ChunkedRequest& request = own.message;
  PromptParts parts = request.has_prompt() ? PartsOfPrompt(request.prompt(), "prompt", options)
                                           : PartsOfFields(request);
  if (HasList(own, v1::ChunkedRequest::kChunkGroupsFieldNumber)) {
    parts.chunk_groups = std::span(request.chunk_groups().data(), SizeOf(request.chunk_groups()));
  }
  return parts;
}

void AddReads(proto::LabelList labels, const v1::ChunkedRequest& request, PackedSequence& sequence,
              ChunkedReadout& readout) {
  readout.reads_rows = readout.row.scores || readout.row.top_logprobs;
  if (!readout.reads_rows) {
    return;
  }
  sequence.label_lists.push_back(std::move(labels));
  for (const SequenceEnd& question : EndsOf(sequence)) {
    sequence.reads.push_back(RowRead{question.row, 0, readout.row.NeedsNormalizer(),
                                     static_cast<std::int32_t>(request.top_logprobs())});
  }
}

std::unique_ptr<EndpointResponse> FormChunkedDelta(std::size_t output, CompletionDelta delta) {
  auto message = std::make_unique<v1::ChunkedDelta>();
  message->set_question(static_cast<std::uint32_t>(output));
  message->set_text(std::move(delta.text));
  message->mutable_token_ids()->Assign(delta.token_ids.begin(), delta.token_ids.end());
  if (delta.finish_reason) {
    message->set_finish_reason(Name(*delta.finish_reason));
  }
  return std::make_unique<EndpointResponse>(std::move(message));
}

}  // namespace

Expected<PreparedRequest> PrepareChunked(ChunkedRequest own, const RequestContext& context,
                                         const OnDelta& on_delta) {
  const v1::ChunkedRequest& request = own.message;
  const Expected<ScoreKind> kind = ResolveScoreKind(
      request.has_activation() ? std::optional(request.activation()) : std::nullopt,
      request.apply_softmax(), context.config);
  if (!kind) {
    return Unexpected(kind.error());
  }
  const GenerationFields fields =
      GenerationFieldsOf(request, request.max_new_tokens(), "max_new_tokens");
  if (auto fault = ChunkedFieldFault(own, fields, *kind, context)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<ChunkPositionStrategy> strategy = PositionStrategy(fields, context.options.chunks);
  if (!strategy) {
    return Unexpected(strategy.error());
  }
  Expected<proto::LabelList> label_ids = Labels(own, context);
  if (!label_ids) {
    return Unexpected(std::move(label_ids).error());
  }
  if (own.IsEmptyList(v1::ChunkedRequest::kQuestionsFieldNumber)) {
    return Unexpected(
        BadRequest("empty_question", "questions must be a nonempty list.", "questions"));
  }
  PromptParts parts = PartsOf(own, context.options.chunks);
  parts.strategy = *strategy;
  parts.max_new_tokens = fields.max_new_tokens;
  Expected<PromptTokens> tokens = TokenizePrompt(parts, context);
  if (!tokens) {
    return Unexpected(std::move(tokens).error());
  }
  Expected<PromptSequence> prompt =
      PackPrompt(parts, *tokens, /*completions=*/1, fields.max_field, context);
  if (!prompt) {
    return Unexpected(std::move(prompt).error());
  }
  prompt->sequence.block_weighting = WeightingOf(fields);
  auto readout = std::make_shared<ChunkedReadout>();
  readout->num_chunks = tokens->num_chunks();
  readout->questions = parts.names;
  readout->prompt_tokens = prompt->prompt_tokens;
  readout->row = ReadoutOf(own, *kind);
  AddReads(*std::move(label_ids), request, prompt->sequence, *readout);
  if (auto fault = PromptCapacityFault(*prompt, parts, context)) {
    return Unexpected(*std::move(fault));
  }
  // The options are the same for every question, including the seed.
  const Expected<CompletionOptions> options =
      CompletionOptionsOf(fields, request.has_seed() ? std::optional(request.seed()) : std::nullopt,
                          own.default_seed, context);
  if (!options) {
    return Unexpected(options.error());
  }
  readout->seed = options->sampling.seed;
  readout->completions.SetSent(std::move(own.sent));
  for (std::size_t i = 0; i < prompt->generations.size(); ++i) {
    if (auto fault = readout->completions.Add(prompt->sequence, *options, parts.names[i], context,
                                              on_delta, prompt->generations[i])) {
      return Unexpected(*std::move(fault));
    }
  }
  PreparedRequest prepared;
  prepared.sequences.push_back(std::move(prompt->sequence));
  prepared.generations = std::move(prompt->generations);
  prepared.readout = std::move(readout);
  prepared.form_delta = FormChunkedDelta;
  return prepared;
}

}  // namespace scorecast::coordinator
