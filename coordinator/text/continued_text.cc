#include "coordinator/text/continued_text.h"

#include <algorithm>
#include <cstddef>

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

Expected<ContinuedText, EncodeFault> ContinuedText::Make(const Tokenizer& tokenizer,
                                                         std::string_view text,
                                                         SpecialTokensInText special_tokens,
                                                         const EncodeLimits& limits) {
  ContinuedText result(tokenizer, special_tokens);
  if (tokenizer.bos()) {
    result.ids_.push_back(*tokenizer.bos());
  }
  const std::size_t added = result.ids_.size();
  const Expected<EncodedText, EncodeFault> encoded =
      tokenizer.EncodeWithin(limits.Behind(added), text, result.tail_options_);
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  result.ids_.insert(result.ids_.end(), encoded->ids.begin(), encoded->ids.end());
  result.head_tokens_ = added + encoded->tokens_before_cut;
  result.tail_options_.at_start = encoded->bytes_before_cut == 0;
  text.remove_prefix(encoded->bytes_before_cut);

  const std::size_t cut = tokenizer.FindOpenEnd(text, result.tail_options_).cut;
  if (cut > 0) {
    EncodeOptions later = result.tail_options_;
    later.at_start = false;
    const Expected<EncodedText, EncodeFault> of_tail =
        tokenizer.EncodeWithin(limits.Uncounted(), text.substr(cut), later);
    if (!of_tail) {
      return Unexpected(of_tail.error());
    }
    // The continuation may be empty, so the text's tokens end with those of the tail. A cut that
    // does not even hold for that is not used.
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

Expected<std::vector<TokenId>, EncodeFault> ContinuedText::Continue(
    std::string_view continuation, const EncodeLimits& limits) const {
  const Expected<EncodedText, EncodeFault> encoded = tokenizer_.EncodeWithin(
      limits.Behind(head_tokens_), tail_ + std::string(continuation), tail_options_);
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  std::vector<TokenId> ids;
  ids.reserve(head_tokens_ + encoded->ids.size());
  ids.assign(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(head_tokens_));
  ids.insert(ids.end(), encoded->ids.begin(), encoded->ids.end());
  return ids;
}

}  // namespace scorecast::coordinator
