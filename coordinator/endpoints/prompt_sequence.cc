#include "coordinator/endpoints/prompt_sequence.h"

#include <algorithm>
#include <string>
#include <utility>

#include "coordinator/prompts/sequence_ends.h"
#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;
using proto::SegmentKind;
using proto::Unexpected;

/// The field of the first part with positions past the limit, or `max_field` if only completions
/// exceed it.
std::string FieldPast(std::int64_t limit, const PackedSequence& sequence, const PromptParts& parts,
                      const std::string& max_field) {
  auto question = parts.names.begin();
  for (const proto::Segment& segment : sequence.segments) {
    if (segment.first_position + std::int64_t{segment.length} <= limit) {
      question += segment.kind == SegmentKind::kSuffix ? 1 : 0;
    } else if (parts.is_one_field) {
      return parts.names.front();
    } else if (segment.kind == SegmentKind::kSuffix) {
      return *question;
    } else {
      return segment.kind == SegmentKind::kBlock ? "chunks" : "system_prompt";
    }
  }
  return max_field;
}

/// Compares the largest position + 1, completions included, with the limit. The last token of a
/// completion is not computed, so it takes no position.
std::optional<Error> PositionFault(const PackedSequence& sequence, const PromptParts& parts,
                                   const PromptTokens& tokens, const std::string& max_field,
                                   std::int64_t limit) {
  const std::int64_t prompt = sequence.PositionLimit();
  const std::int64_t completion = std::max<std::int64_t>(parts.max_new_tokens - 1, 0);
  if (prompt + completion <= limit) {
    return std::nullopt;
  }
  const std::string field = FieldPast(limit, sequence, parts, max_field);
  const std::string hint = field == max_field ? " " + max_field + " may be at most " +
                                                    std::to_string(limit - prompt + 1) + "."
                                              : parts.CutHint();
  return BadRequest("too_many_positions",
                    "Too many positions: " + Exceeds(prompt + completion, limit) +
                        " (system prompt " + std::to_string(tokens.prefix.size()) +
                        ", with chunks and questions " + std::to_string(prompt) + ", completions " +
                        std::to_string(completion) + ")." + hint,
                    field);
}

}  // namespace

Expected<PromptSequence> PackPrompt(const PromptParts& parts, const PromptTokens& tokens,
                                    std::int64_t completions, const std::string& max_field,
                                    const RequestContext& context) {
  PromptSequence prompt;
  prompt.sequence = PackChunks(tokens.prefix, tokens.groups, tokens.questions, parts.strategy);
  prompt.prompt_tokens = prompt.sequence.rows();
  if (auto fault = PositionFault(prompt.sequence, parts, tokens, max_field,
                                 context.config.max_position_embeddings)) {
    return Unexpected(*std::move(fault));
  }
  if (parts.max_new_tokens > 0) {
    prompt.generations = AddCompletions(parts.max_new_tokens, completions, prompt.sequence);
  }
  return prompt;
}

std::optional<Error> PromptCapacityFault(const PromptSequence& prompt, const PromptParts& parts,
                                         const RequestContext& context) {
  auto fault = CapacityFault(prompt.sequence, context.limits, prompt.generations);
  if (fault) {
    fault->param = parts.is_one_field || parts.chunks.empty() ? parts.names.front() : "chunks";
  }
  return fault;
}

}  // namespace scorecast::coordinator
