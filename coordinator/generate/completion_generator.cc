#include "coordinator/generate/completion_generator.h"

#include <algorithm>
#include <span>
#include <utility>

#include "coordinator/generate/token_texts.h"

namespace scorecast::coordinator {

const char* Name(FinishReason reason) { return reason == FinishReason::kStop ? "stop" : "length"; }

CompletionGenerator::CompletionGenerator(const Tokenizer* tokenizer, std::int64_t vocab_size,
                                         std::vector<TokenId> context, CompletionOptions options,
                                         OnDelta on_delta)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      on_delta_(std::move(on_delta)),
      sampler_(options_.sampling, vocab_size, options_.adjustments),
      stop_strings_(options_.stop, options_.shows_stop),
      text_offset_(CountCharacters(options_.echo)) {
  if (tokenizer != nullptr) {
    text_stream_.emplace(*tokenizer, context);
  }
}

proto::RowRead CompletionGenerator::Wanted() const {
  if (unscored_) {
    return ScoringRead(*unscored_, NumBest());
  }
  proto::RowRead read = sampler_.Wanted(static_cast<std::uint32_t>(output_.token_ids.size()));
  if (SharesRead(read)) {
    read.top_k = std::max(read.top_k, static_cast<std::int32_t>(NumBest()));
  }
  return read;
}

const proto::LabelList& CompletionGenerator::Labels() const {
  const auto step = static_cast<std::uint32_t>(output_.token_ids.size());
  return unscored_ || SharesRead(sampler_.Wanted(step)) ? options_.logprob_token_ids
                                                        : sampler_.Labels();
}

std::int64_t CompletionGenerator::NumBest() const {
  return options_.logprob_token_ids.empty() ? *options_.logprobs : 0;
}

bool CompletionGenerator::SharesRead(const proto::RowRead& of_sampler) const {
  return options_.logprobs && of_sampler.normalizer && sampler_.Labels().empty() &&
         (options_.sampling.is_greedy() || of_sampler.draw);
}

std::optional<ScoredToken> CompletionGenerator::Score(TokenId token, const proto::RowRead& read,
                                                      const proto::RowLogits& row) const {
  std::optional<ScoredToken> scored = ScoreToken(token, NumBest(), read, row);
  const proto::LabelList& named = options_.logprob_token_ids;
  if (!scored || named.empty()) {
    return scored;
  }
  if (!unscored_ && !SharesRead(read)) {
    return std::nullopt;
  }
  const std::vector<double> logprobs = LabelLogprobs(row);
  for (std::size_t i = 0; i < named.size(); ++i) {
    scored->best.emplace_back(named[i], logprobs[i]);
  }
  return scored;
}

void CompletionGenerator::Choose(const proto::RowLogits& row) {
  Chosen& chosen = chosen_.emplace();
  chosen.is_finite = IsRowFinite(row);
  if (!chosen.is_finite) {
    return;
  }
  const auto step = static_cast<std::uint32_t>(output_.token_ids.size());
  const proto::RowRead read = Wanted();
  const std::optional<TokenId> token = unscored_ ? unscored_ : sampler_.Take(row, step);
  if (!token) {
    return;
  }
  if (options_.logprobs) {
    chosen.scored = Score(*token, read, row);
    if (!chosen.scored) {
      unscored_ = token;
      return;
    }
    unscored_.reset();
  }
  chosen.token = token;
}

TokenChooser::Choice CompletionGenerator::Take(const proto::RowLogits& row) {
  if (!chosen_) {
    Choose(row);
  }
  auto [is_finite, token, scored] = *std::exchange(chosen_, std::nullopt);
  if (!is_finite) {
    is_finite_ = false;
    return {Choice::Kind::kEnd, 0};
  }
  if (!token) {
    return {Choice::Kind::kReadAgain, 0};
  }
  if (scored) {
    scored->text_offset = text_offset_;
  }
  const auto step = static_cast<std::uint32_t>(output_.token_ids.size());
  const proto::LabelList& stop_ids = options_.stop_token_ids;
  const bool stops = std::ranges::find(stop_ids, *token) != stop_ids.end();
  const bool is_last = static_cast<std::int64_t>(step) + 1 >= options_.max_new_tokens;

  const bool may_stop =
      static_cast<std::int64_t>(step) >= options_.adjustments.options().min_tokens;

  std::string text = std::exchange(options_.echo, {});
  if (text_stream_ && (!stops || options_.shows_stop) && HasText(*token)) {
    const std::string of_token = text_stream_->Push(*token);
    text_offset_ += CountCharacters(of_token);
    text += stop_strings_.Push(of_token, may_stop);
  }
  if (text_stream_ && (stops || is_last)) {
    text += stop_strings_.Push(text_stream_->Finish(), may_stop);
    text += stop_strings_.Finish();
  }
  std::optional<FinishReason> reason;
  if (stops || stop_strings_.found()) {
    reason = FinishReason::kStop;
  } else if (is_last) {
    reason = FinishReason::kLength;
  }
  Give(std::move(text), *token, std::move(scored), reason);
  return reason || differs_ ? Choice{Choice::Kind::kEnd, 0} : Choice{Choice::Kind::kToken, *token};
}

bool CompletionGenerator::HasText(TokenId token) const {
  return !options_.skip_special_tokens || !tokenizer_->IsSpecial(token);
}

CompletionPosition CompletionGenerator::Reach(TokenId token,
                                              const std::optional<ScoredToken>& scored) {
  digest_.Add(std::as_bytes(std::span(&token, 1)));
  if (scored) {
    digest_.Add(std::as_bytes(std::span(&scored->logprob, 1)));
  }
  return {.tokens = std::ssize(output_.token_ids), .digest = digest_.value()};
}

void CompletionGenerator::Give(std::string text, TokenId token, std::optional<ScoredToken> scored,
                               std::optional<FinishReason> reason) {
  output_.text += text;
  output_.token_ids.push_back(token);
  output_.finish_reason = reason.value_or(FinishReason::kLength);
  if (scored) {
    output_.scored.push_back(*scored);
  }
  const CompletionPosition reached = Reach(token, scored);
  const CompletionPosition& sent = options_.sent;
  if (reached.tokens == sent.tokens) {
    differs_ = reached != sent;
  } else if (reached.tokens < sent.tokens) {
    differs_ = reason.has_value();
  } else if (on_delta_) {
    CompletionDelta delta{
        .text = std::move(text), .token_ids = {token}, .finish_reason = reason, .reached = reached};
    if (scored) {
      delta.scored.push_back(*std::move(scored));
    }
    on_delta_(std::move(delta));
  }
}

}  // namespace scorecast::coordinator
