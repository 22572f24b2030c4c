#include "coordinator/endpoints/prompt_completions.h"

#include <algorithm>
#include <utility>

#include "coordinator/request/row_scores.h"
#include "coordinator/schedule/pages/kept_segments.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::PackedSequence;
using proto::Unexpected;

/// How many tokens before a completion affect how it is decoded, at most. Unfinished characters and
/// rules about spaces reach back fewer.
constexpr std::int32_t kContextTokens = 16;

/// The last tokens before a completion, of the question or the ordinary prompt that it continues.
std::vector<TokenId> ContextOf(const PackedSequence& sequence, const Generation& generation) {
  const std::int32_t question = sequence.segments[generation.segment].length;
  const std::int32_t length = question > 0 ? question : sequence.segments.front().length;
  const auto end = sequence.tokens.begin() + FirstReadRow(sequence, generation) + 1;
  return {end - std::min(length, kContextTokens), end};
}

proto::Error StreamDiffers() {
  return {502, "stream_differs",
          "The stream cannot go on: the server that went on with it computes other tokens than "
          "those that were sent.",
          ""};
}

/// Of all completions together: 128 MiB of ids.
constexpr std::int64_t kMostAdjusted = std::int64_t{1} << 25;

proto::Error TooManyAdjusted(const AdjustmentOptions& options) {
  const std::string field = options.logit_bias.empty() ? "repetition_penalty" : "logit_bias";
  return {413, "too_many_adjusted_tokens",
          "The completions have more than " + proto::Count(kMostAdjusted, "adjusted token") +
              " together. With penalties, each completion has its own list: the tokens of "
              "logit_bias and, with repetition_penalty, of its prompt.",
          field};
}

/// The tokens that a completion sees when it begins, by id.
proto::LabelList TokensBefore(const PackedSequence& sequence, const Generation& generation,
                              std::int64_t vocab_size) {
  std::vector<bool> is_seen(static_cast<std::size_t>(vocab_size));
  auto token = sequence.tokens.begin();
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    const proto::Segment& segment = sequence.segments[i];
    const auto end = token + segment.length;
    if (segment.kind != proto::SegmentKind::kSuffix || i == generation.segment) {
      std::for_each(token, end, [&](TokenId id) { is_seen[static_cast<std::size_t>(id)] = true; });
    }
    token = end;
  }
  std::vector<TokenId> tokens;
  for (std::size_t id = 0; id < is_seen.size(); ++id) {
    if (is_seen[id]) {
      tokens.push_back(static_cast<TokenId>(id));
    }
  }
  return tokens;
}

}  // namespace

std::optional<proto::Error> PromptCompletions::Add(const PackedSequence& sequence,
                                                   CompletionOptions options, std::string field,
                                                   const RequestContext& context,
                                                   const OnDelta& on_delta,
                                                   Generation& generation) {
  CompletionGenerator::OnDelta on_own_delta;
  if (on_delta) {
    on_own_delta = [on_delta, i = generators_.size()](CompletionDelta delta) {
      on_delta(i, std::move(delta));
    };
  }
  if (options.adjustments.options().reads_prompt()) {
    proto::LabelList prompt = TokensBefore(sequence, generation, context.config.vocab_size);
    if (!adjustments_ || adjustments_->prompt() != prompt) {
      adjustments_ = options.adjustments.WithPrompt(std::move(prompt));
    }
    options.adjustments = *adjustments_;
  }
  const TokenAdjustments& adjustments = options.adjustments;
  // A list of the whole vocabulary stays as it is, and is shared.
  if (const auto adjusted = std::ssize(adjustments.tokens());
      adjustments.has_own_tokens() && adjusted < context.config.vocab_size) {
    adjusted_tokens_ += adjusted;
    if (adjusted_tokens_ > kMostAdjusted) {
      return TooManyAdjusted(adjustments.options());
    }
  }
  if (const auto sent = sent_.find(generators_.size()); sent != sent_.end()) {
    options.sent = sent->second;
  }
  auto generator = std::make_shared<CompletionGenerator>(
      context.tokenizer, context.config.vocab_size, ContextOf(sequence, generation),
      std::move(options), std::move(on_own_delta));
  generators_.push_back(generator);
  fields_.push_back(std::move(field));
  generation.chooser = std::move(generator);
  return std::nullopt;
}

Expected<std::vector<const CompletionOutput*>> PromptCompletions::Outputs() const {
  std::vector<const CompletionOutput*> outputs;
  for (std::size_t i = 0; i < generators_.size(); ++i) {
    if (!generators_[i]->is_finite()) {
      return Unexpected(NotFinite(fields_[i]));
    }
    if (generators_[i]->differs()) {
      return Unexpected(StreamDiffers());
    }
    outputs.push_back(&generators_[i]->output());
  }
  return outputs;
}

std::int64_t PromptCompletions::num_tokens() const {
  std::int64_t tokens = 0;
  for (const auto& generator : generators_) {
    tokens += static_cast<std::int64_t>(generator->output().token_ids.size());
  }
  return tokens;
}

}  // namespace scorecast::coordinator
