#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/chunked/chunked_checks.h"
#include "coordinator/endpoints/chunked/chunked_readout.h"
#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/endpoints/chunked/chunked_tokens.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/generate/completion_options.h"
#include "coordinator/generate/seed.h"
#include "coordinator/prompts/sequence_ends.h"
#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/score_kind.h"
#include "coordinator/schedule/pages/capacity.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;
using proto::RowRead;
using proto::SegmentKind;
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
      ResolveLabels(given, 0, context.tokenizer, context.config, context.interruption);
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

/// The field of the first part with positions past the limit, or "max_new_tokens" if only
/// completions exceed it.
std::string FieldPast(std::int64_t limit, const PackedSequence& sequence,
                      const v1::ChunkedRequest& request, const ChunkedTokens& tokens) {
  auto question = tokens.names.begin();
  for (const proto::Segment& segment : sequence.segments) {
    if (segment.first_position + std::int64_t{segment.length} <= limit) {
      question += segment.kind == SegmentKind::kSuffix ? 1 : 0;
    } else if (request.has_prompt()) {
      return "prompt";
    } else if (segment.kind == SegmentKind::kSuffix) {
      return *question;
    } else {
      return segment.kind == SegmentKind::kBlock ? "chunks" : "system_prompt";
    }
  }
  return "max_new_tokens";
}

/// Compares the largest position + 1, completions included, with the limit. The last token of a
/// completion is not computed, so it takes no position.
std::optional<Error> PositionFault(const PackedSequence& sequence, const ChunkedTokens& tokens,
                                   const v1::ChunkedRequest& request, std::int64_t limit) {
  const std::int64_t prompt = sequence.PositionLimit();
  const std::int64_t completion = std::max<std::int64_t>(request.max_new_tokens() - 1, 0);
  if (prompt + completion <= limit) {
    return std::nullopt;
  }
  return BadRequest("too_many_positions",
                    "Too many positions: " + Exceeds(prompt + completion, limit) +
                        " (system prompt " + std::to_string(tokens.prefix.size()) +
                        ", with chunks and questions " + std::to_string(prompt) + ", completions " +
                        std::to_string(completion) + ").",
                    FieldPast(limit, sequence, request, tokens));
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

/// How the tokens of completions are chosen. The seed is empty if the request gives none and needs
/// none.
SamplingOptions SamplingOf(const ChunkedRequest& own) {
  const v1::ChunkedRequest& request = own.message;
  SamplingOptions sampling = {
      .temperature = request.temperature(), .top_p = request.top_p(), .top_k = request.top_k()};
  if (request.has_seed()) {
    sampling.seed = request.seed();
  } else if (request.max_new_tokens() > 0 && !sampling.is_greedy()) {
    sampling.seed = own.default_seed ? *own.default_seed : DrawSeed();
  }
  return sampling;
}

/// The options are the same for every question, including the seed.
CompletionOptions CompletionOptionsOf(const v1::ChunkedRequest& request,
                                      const proto::ModelConfig& config,
                                      const SamplingOptions& sampling) {
  CompletionOptions options;
  options.max_new_tokens = request.max_new_tokens();
  options.sampling = sampling;
  options.stop.assign(request.stop().begin(), request.stop().end());
  options.stop_token_ids.assign(request.stop_token_ids().begin(), request.stop_token_ids().end());
  if (!request.ignore_eos()) {
    options.stop_token_ids.insert(options.stop_token_ids.end(), config.eos_token_ids.begin(),
                                  config.eos_token_ids.end());
  }
  return options;
}

/// How many tokens before a completion affect how it is decoded, at most. Unfinished characters and
/// rules about spaces reach back fewer.
constexpr std::size_t kContextTokens = 16;

/// The last tokens of each question, at most kContextTokens.
std::vector<std::vector<TokenId>> QuestionContexts(const PackedSequence& sequence) {
  std::vector<std::vector<TokenId>> contexts;
  for (const SequenceEnd& question : EndsOf(sequence)) {
    const auto length = static_cast<std::size_t>(sequence.segments[question.segment].length);
    const auto end = sequence.tokens.begin() + question.row + 1;
    contexts.emplace_back(end - static_cast<std::ptrdiff_t>(std::min(length, kContextTokens)), end);
  }
  return contexts;
}

void AddGenerators(const CompletionOptions& options, const RequestContext& context,
                   const OnDelta& on_delta, PreparedRequest& prepared, ChunkedReadout& readout) {
  if (prepared.generations.empty()) {
    return;
  }
  std::vector<std::vector<TokenId>> contexts = QuestionContexts(prepared.sequences.front());
  for (std::size_t i = 0; i < prepared.generations.size(); ++i) {
    CompletionGenerator::OnDelta on_own_delta;
    if (on_delta) {
      on_own_delta = [on_delta, i](CompletionDelta delta) { on_delta(i, std::move(delta)); };
    }
    auto generator = std::make_shared<CompletionGenerator>(
        context.tokenizer, context.config.vocab_size, std::move(contexts[i]), options,
        std::move(on_own_delta));
    readout.completions.push_back(generator);
    prepared.generations[i].chooser = std::move(generator);
  }
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
  if (auto fault = ChunkedFieldFault(own, *kind, context)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<ChunkPositionStrategy> strategy =
      PositionStrategy(request, context.options.chunks);
  if (!strategy) {
    return Unexpected(strategy.error());
  }
  Expected<proto::LabelList> label_ids = Labels(own, context);
  if (!label_ids) {
    return Unexpected(std::move(label_ids).error());
  }
  Expected<ChunkedTokens> tokens = TokenizeChunked(own, *strategy, context);
  if (!tokens) {
    return Unexpected(std::move(tokens).error());
  }

  PackedSequence sequence =
      PackChunks(tokens->prefix, tokens->groups, tokens->questions, *strategy);
  if (auto fault =
          PositionFault(sequence, *tokens, request, context.config.max_position_embeddings)) {
    return Unexpected(*std::move(fault));
  }
  sequence.block_weighting = {static_cast<float>(request.chunk_temperature()),
                              static_cast<float>(request.chunk_scale())};
  auto readout = std::make_shared<ChunkedReadout>();
  readout->num_chunks = tokens->num_chunks();
  readout->questions = tokens->names;
  readout->prompt_tokens = sequence.rows();
  readout->row = ReadoutOf(own, *kind);
  const SamplingOptions sampling = SamplingOf(own);
  readout->seed = sampling.seed;
  AddReads(*std::move(label_ids), request, sequence, *readout);
  PreparedRequest prepared;
  if (request.max_new_tokens() > 0) {
    prepared.generations = AddCompletions(request.max_new_tokens(), sequence);
  }
  if (auto fault = CapacityFault(sequence, context.limits, prepared.generations)) {
    fault->param =
        request.has_prompt() || tokens->groups.empty() ? tokens->names.front() : "chunks";
    return Unexpected(*std::move(fault));
  }
  prepared.sequences.push_back(std::move(sequence));
  AddGenerators(CompletionOptionsOf(request, context.config, sampling), context, on_delta, prepared,
                *readout);
  prepared.readout = std::move(readout);
  return prepared;
}

}  // namespace scorecast::coordinator
