#include "coordinator/endpoints/completions/completions_readout.h"

#include <algorithm>
#include <utility>

#include "coordinator/endpoints/completions/completion_logprobs.h"
#include "coordinator/request/row_scores.h"
#include "proto/base/count.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

/// The log-probabilities of a prompt's own tokens. Forms that are not returned are absent.
struct PromptLogprobs {
  std::optional<v1::CompletionLogprobs> echoed;
  google::protobuf::RepeatedPtrField<v1::RankedTokens> ranked;
  google::protobuf::RepeatedPtrField<v1::Numbers> named;  // [rows that are read][ids]
};

/// Those of prompt `index`. A 500 if a row was not finite.
Expected<PromptLogprobs> PromptLogprobsOf(const CompletionsReadout& readout, std::size_t index,
                                          const JobRows& rows) {
  PromptLogprobs logprobs;
  const std::optional<PromptRows> read = readout.PromptReads();
  if (!read) {
    return logprobs;
  }
  const RepeatedPrompt& prompt = readout.prompts[index];
  auto scored = ScorePrompt(prompt.tokens, *read, rows[index]);
  if (!scored) {
    return Unexpected(NotFinite(prompt.field));
  }
  const std::size_t first =
      prompt.tokens.size() - scored->size();  // Of the tokens that are scored.
  const CompletionsIdentity& identity = readout.identity;
  if (readout.echoes && identity.logprobs) {
    const std::vector<std::int64_t> offsets =
        TextOffsets({.tokenizer = readout.tokenizer,
                     .tokens = prompt.tokens,
                     .is_text = prompt.is_text,
                     .skip_special_tokens = readout.skip_special_tokens,
                     .echoed_characters = CountCharacters(prompt.echo)});
    logprobs.echoed.emplace();
    for (std::size_t i = 0; i < first; ++i) {
      AddUnscored(prompt.tokens[i], offsets[i], *identity.texts, *logprobs.echoed);
    }
    for (std::size_t i = 0; i < scored->size(); ++i) {
      (*scored)[i].text_offset = offsets[first + i];
      AddLogprobs((*scored)[i], *identity.logprobs, *identity.texts, *logprobs.echoed);
    }
  }
  if (readout.prompt_logprobs) {
    for (std::size_t i = 0; i < first; ++i) {
      logprobs.ranked.Add();
    }
    for (const ScoredToken& token : *scored) {
      AddRanked(token, *readout.prompt_logprobs, *identity.texts, *logprobs.ranked.Add());
    }
  }
  if (!readout.prompt_logprob_token_ids.empty()) {
    for (const proto::RowLogits& row : rows[index]) {
      const std::vector<double> of_row = LabelLogprobs(row);
      logprobs.named.Add()->mutable_values()->Assign(of_row.begin(), of_row.end());
    }
  }
  return logprobs;
}

template <typename Message>
void SetIdentity(const CompletionsIdentity& identity, Message& message) {
  message.set_id(identity.id);
  message.set_created(identity.created);
}

/// Fills a completion, or a part of one, apart from its text. `Part` is a CompletionOutput or a
/// CompletionDelta.
template <typename Part>
void FillChoice(const CompletionsIdentity& identity, std::size_t index, const Part& part,
                const PromptLogprobs& prompt, v1::Completion& choice) {
  choice.set_index(static_cast<std::int64_t>(index));
  if (identity.has_token_ids) {
    choice.mutable_token_ids()->Assign(part.token_ids.begin(), part.token_ids.end());
  }
  if (const std::optional<FinishReason> reason = part.finish_reason) {
    choice.set_finish_reason(Name(*reason));
  }
  if (identity.logprobs && identity.is_chat()) {
    for (const ScoredToken& token : part.scored) {
      AddLogprobs(token, identity.entries, *identity.texts, *choice.mutable_chat_logprobs());
    }
  } else if (identity.logprobs) {
    v1::CompletionLogprobs& logprobs = *choice.mutable_logprobs();
    logprobs = prompt.echoed.value_or(v1::CompletionLogprobs());
    for (const ScoredToken& token : part.scored) {
      AddLogprobs(token, identity.entries, *identity.texts, logprobs);
    }
  }
  *choice.mutable_prompt_logprobs() = prompt.ranked;
  *choice.mutable_prompt_token_id_logprobs() = prompt.named;
}

}  // namespace

std::optional<PromptRows> CompletionsReadout::PromptReads() const {
  const auto best = std::max(echoes ? identity.logprobs : std::nullopt, prompt_logprobs);
  if (!best && prompt_logprob_token_ids.empty()) {
    return std::nullopt;
  }
  return PromptRows{.first = prompt_logprob_start,
                    .best = best.value_or(0),
                    .named = prompt_logprob_token_ids,
                    .ranks = prompt_logprobs.has_value()};
}

Expected<std::unique_ptr<EndpointResponse>> CompletionsReadout::Respond(const JobRows& rows) {
  const Expected<std::vector<const CompletionOutput*>> outputs = completions.Outputs();
  if (!outputs) {
    return Unexpected(outputs.error());
  }
  auto message = std::make_unique<v1::CompletionsResponse>();
  SetIdentity(identity, *message);
  for (std::size_t i = 0; i < prompts.size() && !streams; ++i) {
    const Expected<PromptLogprobs> logprobs = PromptLogprobsOf(*this, i, rows);
    if (!logprobs) {
      return Unexpected(logprobs.error());
    }
    const CompletionOutput none{.text = prompts[i].echo};
    for (std::size_t k = 0; k < completions_per_prompt; ++k) {
      const std::size_t index = i * completions_per_prompt + k;
      const CompletionOutput& output = outputs->empty() ? none : *(*outputs)[index];
      v1::Completion& choice = *message->add_choices();
      choice.set_text(output.text);
      FillChoice(identity, index, output, *logprobs, choice);
    }
  }
  message->mutable_usage()->set_completion_tokens(completions.num_tokens());
  if (seed) {
    message->set_seed(static_cast<std::int64_t>(*seed));
  }
  auto response = std::make_unique<EndpointResponse>(std::move(message), description);
  if (streams && !has_last_event) {
    response->SetNoEvent();
  }
  return response;
}

std::string CompletionsReadout::Summary() const { return proto::Count(prompts.size(), "prompt"); }

std::unique_ptr<EndpointResponse> FormCompletionsDelta(
    const CompletionsIdentity& identity, std::size_t output, CompletionDelta delta, bool begins,
    const google::protobuf::Descriptor& description) {
  auto message = std::make_unique<v1::CompletionsDelta>();
  SetIdentity(identity, *message);
  v1::Completion& choice = *message->add_choices();
  choice.set_text(std::move(delta.text));
  FillChoice(identity, output, delta, {}, choice);
  if (begins) {
    message->set_role(identity.role);
  }
  return std::make_unique<EndpointResponse>(std::move(message), &description);
}

}  // namespace scorecast::coordinator
