#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/normalizer.h"
#include "coordinator/text/token_trie.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// A token that stands for a text of its own, whatever BPE would make of it.
struct AddedToken {
  proto::TokenId id = 0;
  std::string content;
  bool special = false;
  bool single_word = false;  ///< Only where no word character stands beside it.
  bool lstrip = false;       ///< Takes the white space before it along.
  bool rstrip = false;       ///< Takes the white space after it along.
  bool normalized = false;   ///< Looked for, normalized, in the normalized text.
};

/// Finds added tokens in texts as Hugging Face's tokenizers library does (AddedVocabulary): those
/// that are not normalized first, in the raw text; what is left is normalized, and then the
/// normalized ones are looked for; always the leftmost, then the longest.
class AddedTokens {
 public:
  /// A token, or where `id` is negative, a text in which none was found.
  struct Part {
    proto::TokenId id = -1;
    std::string_view text;
  };

  AddedTokens(std::vector<AddedToken> tokens, Normalization normalization);

  /// Calls `part` for all parts of `text` (valid UTF-8), in order; texts are normalized and live
  /// during the call only.
  void Cut(std::string_view text, const std::function<void(const Part&)>& part) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  void CutAt(const TokenTrie& trie, std::string_view text,
             const std::function<void(const Part&)>& part) const;

  std::vector<AddedToken> tokens_;
  Normalization normalization_;
  TokenTrie raw_;         ///< Tokens looked for in the raw text, by index in tokens_.
  TokenTrie normalized_;  ///< Tokens looked for in the normalized text.
};

}  // namespace scorecast::coordinator
