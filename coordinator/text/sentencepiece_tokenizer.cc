#include "coordinator/text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

using proto::StartupError;

SentencePieceTokenizer::SentencePieceTokenizer(std::string_view model,
                                               const TokenizerConfig& config,
                                               const std::string& origin)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const sentencepiece::util::Status status = processor_->LoadFromSerializedProto(model);
  if (!status.ok() || processor_->GetPieceSize() == 0) {
    throw StartupError(origin + ": not a SentencePiece model (" + proto::OneLine(status.message()) +
                       ")");
  }
  if (config.add_bos_token.value_or(processor_->bos_id() >= 0)) {
    if (processor_->bos_id() < 0) {
      throw StartupError(config.origin + ": add_bos_token is true, but " + origin + " has no BOS");
    }
    bos_ = processor_->bos_id();
    added_prefix_.push_back(*bos_);
  }
  if (config.add_eos_token.value_or(false)) {
    if (processor_->eos_id() < 0) {
      throw StartupError(config.origin + ": add_eos_token is true, but " + origin + " has no EOS");
    }
    added_suffix_.push_back(processor_->eos_id());
  }
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::vector<TokenId> SentencePieceTokenizer::Encode(std::string_view text) const {
  return processor_->EncodeAsIds(text);
}

std::string SentencePieceTokenizer::Decode(std::span<const TokenId> ids) const {
  std::vector<int> known;
  known.reserve(ids.size());
  for (const TokenId id : ids) {
    if (id >= 0 && id < vocab_size()) {
      known.push_back(id);
    }
  }
  // The library decodes control tokens to no text at all. Here they are kept, each in its place.
  const auto decoded = processor_->DecodeIdsAsImmutableProto(known);
  std::string text;
  for (const auto& piece : decoded.pieces()) {
    if (processor_->IsControl(static_cast<int>(piece.id()))) {
      text += piece.piece();
    } else {
      text += piece.surface();
    }
  }
  return text;
}

std::int64_t SentencePieceTokenizer::vocab_size() const { return processor_->GetPieceSize(); }

std::vector<SpecialToken> SentencePieceTokenizer::special_tokens() const {
  std::vector<SpecialToken> tokens;
  for (int id = 0; id < processor_->GetPieceSize(); ++id) {
    if (processor_->IsControl(id) || processor_->IsUnknown(id)) {
      tokens.push_back({id, processor_->IdToPiece(id)});
    }
  }
  return tokens;
}

}  // namespace scorecast::coordinator
