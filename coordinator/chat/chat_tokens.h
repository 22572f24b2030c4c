#pragma once

#include <cstddef>
#include <vector>

#include "coordinator/chat/marked_text.h"
#include "coordinator/text/steps/token_trie.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Tokenizes rendered conversations as transformers does, but for one thing: control tokens that
/// the request spells are text. Const methods may be called from several threads.
class ChatTokens {
 public:
  /// `tokenizer` must outlive the result.
  explicit ChatTokens(const Tokenizer& tokenizer);

  /// No BOS or EOS but those that the template spells. As EncodeWithin, at least
  /// `limits.enough_tokens` if there are so many. `at_start`: EncodeOptions::at_start.
  proto::Expected<std::vector<TokenId>, EncodeFault> Encode(const MarkedText& text,
                                                            const EncodeLimits& limits,
                                                            bool at_start = true) const;

 private:
  /// A control token in a text, with the white space that it takes.
  struct Match {
    const SpecialToken* token = nullptr;  ///< Null: it does not count here.
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// How far a text was searched, and the end of the run of one origin that this is in.
  struct Place {
    std::size_t at = 0;
    std::size_t end = 0;
  };

  /// The first control token that is spelled from `place` on, by bytes of the template alone;
  /// `place` moves behind it. `done` is the end of the one before it.
  Match FindNext(const MarkedText& text, std::size_t done, Place& place) const;
  Match MatchOf(std::string_view text, const SpecialToken& token, std::size_t begin,
                std::size_t done) const;

  const Tokenizer& tokenizer_;
  std::vector<SpecialToken> tokens_;
  TokenTrie trie_;  ///< Of indices into `tokens_`.
};

}  // namespace scorecast::coordinator
