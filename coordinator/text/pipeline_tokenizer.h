#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "coordinator/text/models/bpe_model.h"
#include "coordinator/text/models/unigram_model.h"
#include "coordinator/text/models/word_piece_model.h"
#include "coordinator/text/steps/added_tokens.h"
#include "coordinator/text/steps/decoder.h"
#include "coordinator/text/steps/pre_tokenizer.h"
#include "coordinator/text/steps/token_template.h"
#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// The tokenizer that a tokenizer.json describes. Added tokens are cut out of a text. The rest is
/// normalized and cut into pieces, and the model makes tokens of each piece.
class PipelineTokenizer final : public Tokenizer {
 public:
  struct Parts {
    AddedTokens added_tokens;
    PreTokenizer pre_tokenizer;
    std::variant<BpeModel, UnigramModel, WordPieceModel> model;
    Decoder decoder;
    std::string_view kind;
    std::vector<std::string> spellings;  ///< What is decoded, by id; empty for ids without a token.
    TokenTemplate token_template;
    std::optional<TokenId> bos;
  };

  explicit PipelineTokenizer(Parts parts);

  OpenEnd FindOpenEnd(std::string_view text, const EncodeOptions& options) const override;
  const std::vector<TokenId>& added_prefix() const override { return added_prefix_; }
  const std::vector<TokenId>& added_suffix() const override { return added_suffix_; }
  TokenTemplate token_template() const override { return parts_.token_template; }
  std::optional<TokenId> bos() const override { return parts_.bos; }
  std::string Decode(std::span<const TokenId> ids) const override;
  std::string Spelling(TokenId id) const override {
    return HasToken(id) ? parts_.spellings[id] : std::string();
  }
  bool IsSpecial(TokenId id) const override { return special_ids_.contains(id); }
  TextState StateOf(TokenId id) const override;
  bool HasSpacesOfLastToken() const override { return parts_.decoder.HasWordEnds(); }
  std::int64_t vocab_size() const override {
    return static_cast<std::int64_t>(parts_.spellings.size());
  }
  std::string_view kind() const override { return parts_.kind; }
  std::vector<SpecialToken> special_tokens() const override;

 private:
  void EncodeText(std::string_view text, const EncodeOptions& options,
                  TokenCollector& tokens) const override;
  std::string_view EscapedSpelling(TokenId id) const override {
    return parts_.added_tokens.EscapedSpelling(id);
  }
  std::optional<TokenId> SplitToken(std::string_view text) const override {
    return parts_.added_tokens.SplitToken(text);
  }
  bool HasToken(TokenId id) const {
    return id >= 0 && id < vocab_size() && !parts_.spellings[id].empty();
  }

  Parts parts_;
  std::vector<TokenId> added_prefix_;
  std::vector<TokenId> added_suffix_;
  std::unordered_set<TokenId> special_ids_;
};

}  // namespace scorecast::coordinator
