#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/added_tokens.h"
#include "coordinator/text/bpe_model.h"
#include "coordinator/text/pre_tokenizer.h"
#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// Byte-level BPE, the tokenizer of the GPT-2 family (Llama 3, Qwen, SmolLM2): added tokens are cut
/// out, the rest is normalized and cut into pieces, and each piece is merged.
class BpeTokenizer final : public Tokenizer {
 public:
  struct Parts {
    AddedTokens added_tokens;
    PreTokenizer pre_tokenizer;
    BpeModel model;
    std::vector<std::string> token_bytes;  ///< By id; empty for ids without a token.
    std::vector<TokenId> added_prefix;
    std::vector<TokenId> added_suffix;
    std::optional<TokenId> bos;
  };

  explicit BpeTokenizer(Parts parts);

  const std::vector<TokenId>& added_prefix() const override { return parts_.added_prefix; }
  const std::vector<TokenId>& added_suffix() const override { return parts_.added_suffix; }
  std::optional<TokenId> bos() const override { return parts_.bos; }
  std::string Decode(std::span<const TokenId> ids) const override;
  std::int64_t vocab_size() const override {
    return static_cast<std::int64_t>(parts_.token_bytes.size());
  }
  std::string_view kind() const override { return "byte-level BPE"; }
  std::vector<SpecialToken> special_tokens() const override;

 private:
  std::vector<TokenId> EncodeText(std::string_view text,
                                  const EncodeOptions& options) const override;
  std::string_view EscapedSpelling(TokenId id) const override {
    return parts_.added_tokens.EscapedSpelling(id);
  }

  Parts parts_;
};

}  // namespace scorecast::coordinator
