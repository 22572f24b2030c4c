#include "coordinator/doors/chunked_preparation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "coordinator/doors/chunk_packing.h"
#include "coordinator/doors/chunked_checks.h"
#include "coordinator/doors/chunked_tokens.h"
#include "coordinator/doors/request_checks.h"
#include "coordinator/doors/request_error.h"
#include "coordinator/doors/score_labels.h"
#include "coordinator/schedule/capacity.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;
using proto::RowRead;
using proto::SegmentKind;
using proto::Unexpected;

/// Labels may be left out where an answer is wanted and nothing is said about labels.
bool WantsLabels(const ChunkedRequest& request) {
  return request.label_token_ids || request.labels || request.max_new_tokens == 0 ||
         request.apply_softmax || request.return_token_logprobs;
}

/// No label where none is wanted.
Expected<std::vector<TokenId>> Labels(const ChunkedRequest& request,
                                      const RequestContext& context) {
  if (!WantsLabels(request)) {
    return std::vector<TokenId>();
  }
  std::optional<LabelTokenIds> ids;
  if (request.label_token_ids) {
    ids = *request.label_token_ids;
  }
  Expected<LabelLists> labels =
      ResolveLabels(ids, request.labels, 0, context.tokenizer, context.config.vocab_size);
  if (!labels) {
    return Unexpected(std::move(labels).error());
  }
  return std::move(labels->lists.front());
}

RowReadout ReadoutOf(const ChunkedRequest& request) {
  RowReadout readout;
  readout.scores = WantsLabels(request);
  readout.apply_softmax = request.apply_softmax;
  readout.temperature = request.label_temperature;
  readout.token_logprobs = request.return_token_logprobs;
  readout.top_logprobs = request.top_logprobs > 0;
  return readout;
}

/// Where a question ends.
struct QuestionEnd {
  std::size_t segment = 0;
  std::int32_t row = 0;  ///< Its last.
};

/// Of the suffixes; of an ordinary prompt the end of the prefix.
std::vector<QuestionEnd> QuestionEnds(const PackedSequence& sequence) {
  std::vector<QuestionEnd> ends;
  std::int32_t end = 0;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    end += sequence.segments[i].length;
    if (sequence.segments[i].kind == SegmentKind::kSuffix) {
      ends.push_back({i, end - 1});
    }
  }
  if (ends.empty()) {
    ends.push_back({0, end - 1});
  }
  return ends;
}

/// Of each question's tokens, the last; they end at its last row.
std::vector<TokenId> Context(const PackedSequence& sequence, const QuestionEnd& question) {
  const auto length = static_cast<std::size_t>(sequence.segments[question.segment].length);
  const auto end = sequence.tokens.begin() + question.row + 1;
  return {end - static_cast<std::ptrdiff_t>(std::min(length, kContextTokens)), end};
}

/// The field of the first part with positions past the limit; without one, the answers'.
std::string FieldPast(std::int64_t limit, const PackedSequence& sequence,
                      const ChunkedRequest& request, const ChunkedTokens& tokens) {
  auto question = tokens.names.begin();
  for (const proto::Segment& segment : sequence.segments) {
    if (segment.first_position + std::int64_t{segment.length} <= limit) {
      question += segment.kind == SegmentKind::kSuffix ? 1 : 0;
    } else if (request.prompt) {
      return "prompt";
    } else if (segment.kind == SegmentKind::kSuffix) {
      return *question;
    } else {
      return segment.kind == SegmentKind::kBlock ? "chunks" : "system_prompt";
    }
  }
  return "max_new_tokens";
}

/// The largest position + 1, with those of the answers; an answer's last token is not computed.
std::optional<Error> PositionFault(const PackedSequence& sequence, const ChunkedTokens& tokens,
                                   const ChunkedRequest& request, std::int64_t limit) {
  const std::int64_t prompt = sequence.PositionLimit();
  const std::int64_t answer = std::max<std::int64_t>(request.max_new_tokens - 1, 0);
  if (prompt + answer <= limit) {
    return std::nullopt;
  }
  return BadRequest("too_many_positions",
                    "Too many positions: " + Exceeds(prompt + answer, limit) + " (system prompt " +
                        std::to_string(tokens.prefix.size()) + ", with chunks and questions " +
                        std::to_string(prompt) + ", answers " + std::to_string(answer) + ").",
                    FieldPast(limit, sequence, request, tokens));
}

CompletionOptions CompletionOptionsOf(const ChunkedRequest& request,
                                      const proto::ModelConfig& config) {
  CompletionOptions options;
  options.max_new_tokens = request.max_new_tokens;
  options.sampling = request.sampling;
  options.stop = request.stop;
  options.stop_token_ids = request.stop_token_ids;
  if (!request.ignore_eos) {
    options.stop_token_ids.insert(options.stop_token_ids.end(), config.eos_token_ids.begin(),
                                  config.eos_token_ids.end());
  }
  return options;
}

void AddReads(const std::vector<QuestionEnd>& questions, std::vector<TokenId> labels,
              const ChunkedRequest& request, PreparedChunked& prepared) {
  prepared.readout.row = ReadoutOf(request);
  prepared.readout.reads_rows = prepared.readout.row.scores || prepared.readout.row.top_logprobs;
  if (!prepared.readout.reads_rows) {
    return;
  }
  prepared.sequence.label_lists.push_back(std::move(labels));
  for (const QuestionEnd& question : questions) {
    prepared.sequence.reads.push_back(RowRead{question.row, 0,
                                              prepared.readout.row.NeedsNormalizer(),
                                              static_cast<std::int32_t>(request.top_logprobs)});
  }
}

/// An answer goes on behind its question, in the question's own suffix; that of an ordinary prompt
/// in a suffix which is empty as yet.
void AddGenerations(const std::vector<QuestionEnd>& questions, bool is_plain,
                    PreparedChunked& prepared) {
  for (const QuestionEnd& question : questions) {
    prepared.contexts.push_back(Context(prepared.sequence, question));
    prepared.generations.push_back(
        {0, question.segment, prepared.answer.max_new_tokens, /*chooser=*/nullptr});
  }
  if (is_plain) {
    prepared.generations.front().segment = prepared.sequence.segments.size();
    prepared.sequence.segments.push_back(
        {SegmentKind::kSuffix, 0, static_cast<std::int32_t>(prepared.sequence.rows())});
  }
}

}  // namespace

Expected<PreparedChunked> PrepareChunked(const ChunkedRequest& request,
                                         const RequestContext& context) {
  if (auto fault = ChunkedFieldFault(request, context)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<ChunkPositionStrategy> strategy =
      PositionStrategy(request, context.options.chunks);
  if (!strategy) {
    return Unexpected(strategy.error());
  }
  Expected<std::vector<TokenId>> labels = Labels(request, context);
  if (!labels) {
    return Unexpected(std::move(labels).error());
  }
  Expected<ChunkedTokens> tokens = TokenizeChunked(request, context);
  if (!tokens) {
    return Unexpected(std::move(tokens).error());
  }

  PreparedChunked prepared;
  prepared.sequence = PackChunks(tokens->prefix, tokens->groups, tokens->questions, *strategy);
  if (auto fault = PositionFault(prepared.sequence, *tokens, request,
                                 context.config.max_position_embeddings)) {
    return Unexpected(*std::move(fault));
  }
  prepared.sequence.block_weighting = {static_cast<float>(request.chunk_temperature),
                                       static_cast<float>(request.chunk_scale)};
  prepared.readout.num_chunks = tokens->num_chunks();
  prepared.readout.questions = tokens->names;
  prepared.readout.model = request.model.value_or(context.options.model_name);
  prepared.readout.usage.prompt_tokens = prepared.sequence.rows();
  const std::vector<QuestionEnd> questions = QuestionEnds(prepared.sequence);
  AddReads(questions, *std::move(labels), request, prepared);
  if (request.max_new_tokens > 0) {
    prepared.answer = CompletionOptionsOf(request, context.config);
    AddGenerations(questions, tokens->is_plain(), prepared);
  }
  if (auto fault = CapacityFault(prepared.sequence, context.limits, prepared.generations)) {
    fault->param = request.prompt || tokens->groups.empty() ? tokens->names.front() : "chunks";
    return Unexpected(*std::move(fault));
  }
  return prepared;
}

}  // namespace scorecast::coordinator
