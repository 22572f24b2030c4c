#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/steps/encode_options.h"
#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// A text that begins many texts, such as a query with its items. It is tokenized once: each longer
/// text is tokenized from the last place at which the tokenizer cuts for certain, whatever follows
/// (Tokenizer::CertainCut). Const methods may be called from several threads at the same time.
class ContinuedText {
 public:
  /// `tokenizer` must outlive this object. `text` must be valid UTF-8.
  ContinuedText(const Tokenizer& tokenizer, std::string_view text,
                SpecialTokensInText special_tokens);

  /// The tokens of the text from its start: BOS if the tokenizer adds one, then those of the text.
  const std::vector<TokenId>& ids() const { return ids_; }

  /// The tokens of text + continuation from its start.
  std::vector<TokenId> Encode(std::string_view continuation) const;

 private:
  const Tokenizer& tokenizer_;
  EncodeOptions tail_options_;
  std::vector<TokenId> ids_;
  std::size_t head_tokens_ = 0;  ///< Number of `ids_` before the cut.
  std::string tail_;             ///< The text behind the cut.
};

}  // namespace scorecast::coordinator
