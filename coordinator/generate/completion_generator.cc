#include "coordinator/generate/completion_generator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scorecast::coordinator {
namespace {

/// Whether all values returned for a row are finite. Values that were not asked for are 0, and no
/// token may have been left to be drawn.
bool IsFinite(const proto::RowLogits& row) {
  return std::isfinite(row.max) && std::isfinite(row.sum_exp) &&
         (row.drawn.first < 0 || std::isfinite(row.drawn.second)) &&
         std::ranges::all_of(row.label_logits, [](float logit) { return std::isfinite(logit); }) &&
         std::all_of(row.top.begin(), row.top.end(),
                     [](const auto& best) { return std::isfinite(best.second); });
}

}  // namespace

const char* Name(FinishReason reason) { return reason == FinishReason::kStop ? "stop" : "length"; }

CompletionGenerator::CompletionGenerator(const Tokenizer* tokenizer, std::int64_t vocab_size,
                                         std::vector<TokenId> context, CompletionOptions options,
                                         OnDelta on_delta)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      on_delta_(std::move(on_delta)),
      sampler_(options_.sampling, vocab_size, options_.adjustments),
      stop_strings_(options_.stop, options_.shows_stop) {
  if (tokenizer != nullptr) {
    text_stream_.emplace(*tokenizer, context);
  }
}

proto::RowRead CompletionGenerator::Wanted() const {
  return sampler_.Wanted(static_cast<std::uint32_t>(output_.token_ids.size()));
}

TokenChooser::Choice CompletionGenerator::Take(const proto::RowLogits& row) {
  if (!IsFinite(row)) {
    is_finite_ = false;
    return {Choice::Kind::kEnd, 0};
  }
  const auto step = static_cast<std::uint32_t>(output_.token_ids.size());
  const std::optional<TokenId> token = sampler_.Take(row, step);
  if (!token) {
    return {Choice::Kind::kReadAgain, 0};
  }
  const std::vector<TokenId>& stop_ids = options_.stop_token_ids;
  const bool stops = std::find(stop_ids.begin(), stop_ids.end(), *token) != stop_ids.end();
  const bool is_last = static_cast<std::int64_t>(step) + 1 >= options_.max_new_tokens;

  const bool may_stop =
      static_cast<std::int64_t>(step) >= options_.adjustments.options().min_tokens;

  std::string text = std::exchange(options_.echo, {});
  if (text_stream_ && (!stops || options_.shows_stop) && HasText(*token)) {
    text += stop_strings_.Push(text_stream_->Push(*token), may_stop);
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
  Give(std::move(text), *token, reason);
  return reason ? Choice{Choice::Kind::kEnd, 0} : Choice{Choice::Kind::kToken, *token};
}

bool CompletionGenerator::HasText(TokenId token) const {
  return !options_.skip_special_tokens || !tokenizer_->IsSpecial(token);
}

void CompletionGenerator::Give(std::string text, TokenId token,
                               std::optional<FinishReason> reason) {
  output_.text += text;
  output_.token_ids.push_back(token);
  output_.finish_reason = reason.value_or(FinishReason::kLength);
  if (on_delta_) {
    on_delta_({std::move(text), {token}, reason});
  }
}

}  // namespace scorecast::coordinator
