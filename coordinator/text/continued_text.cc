#include "coordinator/text/continued_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

/// What stands before a text that begins a sequence.
std::vector<TokenId> BosOf(const Tokenizer& tokenizer) {
  return tokenizer.bos() ? std::vector<TokenId>{*tokenizer.bos()} : std::vector<TokenId>();
}

}  // namespace

Expected<std::vector<TokenId>, EncodeFault> EncodeFromStart(const EncodeLimits& limits,
                                                            const Tokenizer& tokenizer,
                                                            std::string_view text,
                                                            SpecialTokensInText special_tokens) {
  std::vector<TokenId> ids = BosOf(tokenizer);
  const Expected<EncodedText, EncodeFault> encoded =
      tokenizer.EncodeWithin(limits.Behind(ids.size()), text, {.special_tokens = special_tokens});
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  ids.insert(ids.end(), encoded->ids.begin(), encoded->ids.end());
  return ids;
}

Expected<ContinuedText, EncodeFault> ContinuedText::Make(const Tokenizer& tokenizer,
                                                         std::string_view text,
                                                         SpecialTokensInText special_tokens,
                                                         const EncodeLimits& limits) {
  return Make(tokenizer, BosOf(tokenizer), text, {.special_tokens = special_tokens}, limits);
}

Expected<ContinuedText, EncodeFault> ContinuedText::Make(const Tokenizer& tokenizer,
                                                         std::vector<TokenId> before,
                                                         std::string_view text,
                                                         const EncodeOptions& options,
                                                         const EncodeLimits& limits) {
  ContinuedText result(tokenizer, options);
  result.ids_ = std::move(before);
  const std::size_t added = result.ids_.size();
  const Expected<EncodedText, EncodeFault> encoded =
      tokenizer.EncodeWithin(limits.Behind(added), text, result.tail_options_);
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  result.ids_.insert(result.ids_.end(), encoded->ids.begin(), encoded->ids.end());
  result.head_tokens_ = added + encoded->tokens_before_cut;
  EncodeOptions later = options;
  later.at_start = false;
  later.behind_token = false;
  if (encoded->bytes_before_cut > 0) {
    result.tail_options_ = later;
  }
  text.remove_prefix(encoded->bytes_before_cut);

  const std::size_t cut = tokenizer.FindOpenEnd(text, result.tail_options_).cut;
  if (cut > 0) {
    const Expected<EncodedText, EncodeFault> of_tail =
        tokenizer.EncodeWithin(limits.Uncounted(), text.substr(cut), later);
    if (!of_tail) {
      return Unexpected(of_tail.error());
    }
    // An empty continuation is possible, so the tokens of the text must end with the tokens of the
    // tail. If they do not, the cut is not used.
    const std::vector<TokenId>& tail_ids = of_tail->ids;
    if (result.head_tokens_ + tail_ids.size() <= result.ids_.size() &&
        std::equal(tail_ids.rbegin(), tail_ids.rend(), result.ids_.rbegin())) {
      text.remove_prefix(cut);
      result.tail_options_ = later;
      result.head_tokens_ = result.ids_.size() - tail_ids.size();
    }
  }
  result.tail_ = text;
  return result;
}

Expected<std::vector<TokenId>, EncodeFault> ContinuedText::ContinueTail(
    std::string_view continuation, const EncodeLimits& limits) const {
  Expected<EncodedText, EncodeFault> encoded =
      tokenizer_->EncodeWithin(limits, tail_ + std::string(continuation), tail_options_);
  return encoded ? Expected<std::vector<TokenId>, EncodeFault>(std::move(encoded->ids))
                 : Unexpected(encoded.error());
}

}  // namespace scorecast::coordinator
