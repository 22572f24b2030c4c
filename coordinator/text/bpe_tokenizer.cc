#include "coordinator/text/bpe_tokenizer.h"

#include <algorithm>
#include <utility>

#include "coordinator/text/utf8.h"

namespace scorecast::coordinator {

BpeTokenizer::BpeTokenizer(Parts parts) : parts_(std::move(parts)) {}

std::vector<TokenId> BpeTokenizer::EncodeText(std::string_view text,
                                              const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  bool takes_prefix = options.at_start;
  parts_.added_tokens.Cut(text, options.special_tokens, [&](const AddedTokens::Part& part) {
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else {
      parts_.pre_tokenizer.Cut(part.text, takes_prefix,
                               [&](std::string_view piece) { parts_.model.Encode(piece, ids); });
    }
    takes_prefix = true;  // The reference puts a prefix before every part.
  });
  return ids;
}

std::string BpeTokenizer::Decode(std::span<const TokenId> ids) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (id >= 0 && id < vocab_size()) {
      bytes += parts_.token_bytes[id];
    }
  }
  // All at once, because the bytes of a character may be in several tokens.
  return ReplaceInvalidUtf8(bytes);
}

std::vector<SpecialToken> BpeTokenizer::special_tokens() const {
  std::vector<SpecialToken> tokens;
  for (const AddedToken& token : parts_.added_tokens.tokens()) {
    tokens.push_back({token.id, token.content});
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const SpecialToken& a, const SpecialToken& b) { return a.id < b.id; });
  return tokens;
}

}  // namespace scorecast::coordinator
