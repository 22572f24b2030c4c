#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/sentencepiece_cuts.h"
#include "coordinator/text/tokenizer.h"
#include "coordinator/text/tokenizer_config.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace scorecast::coordinator {

/// A tokenizer.model, read by the SentencePiece library. Spellings of control tokens ("</s>") in a
/// text are ordinary text, as in SentencePiece itself.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  /// `model` is the file's content. BOS is added if the model has one, unless the configuration
  /// says otherwise; EOS is added only if the configuration says so. Throws StartupError.
  SentencePieceTokenizer(std::string_view model, const TokenizerConfig& config,
                         const std::string& origin);
  ~SentencePieceTokenizer() override;

  std::size_t CertainCut(std::string_view text, const EncodeOptions& /*options*/) const override {
    return cuts_.Last(text);
  }
  const std::vector<TokenId>& added_prefix() const override { return added_prefix_; }
  const std::vector<TokenId>& added_suffix() const override { return added_suffix_; }
  std::optional<TokenId> bos() const override { return bos_; }
  std::string Decode(std::span<const TokenId> ids) const override;
  std::int64_t vocab_size() const override;
  std::string_view kind() const override { return "SentencePiece"; }
  std::vector<SpecialToken> special_tokens() const override;

 private:
  std::vector<TokenId> EncodeText(std::string_view text,
                                  const EncodeOptions& options) const override;

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  /// Encodes without the dummy prefix.
  std::unique_ptr<sentencepiece::SentencePieceProcessor> later_sections_;
  SentencePieceCuts cuts_;
  std::vector<TokenId> added_prefix_;
  std::vector<TokenId> added_suffix_;
  std::optional<TokenId> bos_;
};

}  // namespace scorecast::coordinator
