#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/sentencepiece_model.h"
#include "coordinator/text/steps/added_tokens.h"
#include "coordinator/text/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace scorecast::coordinator {

/// A tokenizer.model, read by the SentencePiece library. Added tokens of the configuration are cut
/// out of a text first. Only the beginning of a text gets a dummy prefix; a part that follows an
/// added token does not. As in SentencePiece itself, the spelling of a control token ("</s>") that
/// is no added token is ordinary text.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  /// `model` is the file's content. BOS is added if the model has one, unless the configuration
  /// says otherwise; EOS is added only if the configuration says so. Throws StartupError.
  SentencePieceTokenizer(std::string_view model, const TokenizerConfig& config,
                         const std::string& origin);
  ~SentencePieceTokenizer() override;

  OpenEnd FindOpenEnd(std::string_view text, const EncodeOptions& options) const override;
  const std::vector<TokenId>& added_prefix() const override { return added_prefix_; }
  const std::vector<TokenId>& added_suffix() const override { return added_suffix_; }
  std::optional<TokenId> bos() const override { return bos_; }
  std::string Decode(std::span<const TokenId> ids) const override;
  std::string Spelling(TokenId id) const override;
  bool IsSpecial(TokenId id) const override;
  std::int64_t vocab_size() const override { return vocab_size_; }
  std::string_view kind() const override { return "SentencePiece"; }
  std::vector<SpecialToken> special_tokens() const override;

 private:
  void EncodeText(std::string_view text, const EncodeOptions& options,
                  TokenCollector& tokens) const override;
  std::string_view EscapedSpelling(TokenId id) const override;
  std::optional<TokenId> SplitToken(std::string_view text) const override {
    return added_tokens_.SplitToken(text);
  }
  /// The id of a BOS or EOS: of the one that the configuration names, or else of the model's.
  TokenId AddedAround(const TokenizerConfig& config, const std::optional<std::string>& named,
                      TokenId of_model, const std::string& name) const;
  bool IsPiece(TokenId id) const;

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  /// Encodes without the dummy prefix.
  std::unique_ptr<sentencepiece::SentencePieceProcessor> later_sections_;
  /// Encodes with the dummy prefix. Set if the model removes spaces at the beginning of a text. A
  /// later section must keep such spaces, so one of them takes the place of the dummy prefix.
  std::unique_ptr<sentencepiece::SentencePieceProcessor> spaced_sections_;
  AddedTokens added_tokens_;
  SentencePieceCuts cuts_;
  std::int64_t vocab_size_;
  std::unordered_map<TokenId, std::string> added_texts_;  ///< Texts of the added tokens, by id.
  std::unordered_map<TokenId, std::string>
      escaped_texts_;  ///< Texts of the tokens to be escaped, by id.
  std::vector<TokenId> added_prefix_;
  std::vector<TokenId> added_suffix_;
  std::optional<TokenId> bos_;
};

}  // namespace scorecast::coordinator
