#include "coordinator/text/continued_text.h"

#include <algorithm>
#include <cstddef>

namespace scorecast::coordinator {

ContinuedText::ContinuedText(const Tokenizer& tokenizer, std::string_view text,
                             SpecialTokensInText special_tokens)
    : tokenizer_(tokenizer), tail_options_{.special_tokens = special_tokens} {
  if (tokenizer_.bos()) {
    ids_.push_back(*tokenizer_.bos());
  }
  head_tokens_ = ids_.size();
  const std::vector<TokenId> encoded = tokenizer_.Encode(text, tail_options_);
  ids_.insert(ids_.end(), encoded.begin(), encoded.end());
  tail_ = text;
  const std::size_t cut = tokenizer_.CertainCut(text, tail_options_);
  if (cut == 0) {
    return;
  }
  EncodeOptions later = tail_options_;
  later.at_start = false;
  const std::vector<TokenId> of_tail = tokenizer_.Encode(text.substr(cut), later);
  // The continuation may be empty, so the text's tokens end with those of the tail. A cut that does
  // not even hold for that is not used.
  if (of_tail.size() <= encoded.size() &&
      std::equal(of_tail.rbegin(), of_tail.rend(), encoded.rbegin())) {
    tail_ = text.substr(cut);
    tail_options_ = later;
    head_tokens_ = ids_.size() - of_tail.size();
  }
}

std::vector<TokenId> ContinuedText::Encode(std::string_view continuation) const {
  const std::vector<TokenId> encoded =
      tokenizer_.Encode(tail_ + std::string(continuation), tail_options_);
  std::vector<TokenId> ids;
  ids.reserve(head_tokens_ + encoded.size());
  ids.assign(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(head_tokens_));
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  return ids;
}

}  // namespace scorecast::coordinator
