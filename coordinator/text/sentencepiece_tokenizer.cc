#include "coordinator/text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

using proto::StartupError;

namespace {

/// A serialized ModelProto whose normalizer_spec (field 3) has add_dummy_prefix (field 3) = false.
/// Protobuf merges a message field that occurs twice, so the other options stay those of the model
/// before it.
constexpr std::string_view kWithoutDummyPrefix("\x1A\x02\x18\x00", 4);

/// Returns the processor of a serialized model. Throws StartupError.
std::unique_ptr<sentencepiece::SentencePieceProcessor> Load(std::string_view model,
                                                            const std::string& origin) {
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  const sentencepiece::util::Status status = processor->LoadFromSerializedProto(model);
  if (!status.ok() || processor->GetPieceSize() == 0) {
    throw StartupError(origin + ": not a SentencePiece model (" + proto::OneLine(status.message()) +
                       ")");
  }
  return processor;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string_view model,
                                               const TokenizerConfig& config,
                                               const std::string& origin)
    : processor_(Load(model, origin)),
      later_sections_(Load(std::string(model) + std::string(kWithoutDummyPrefix), origin)),
      cuts_(model) {
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

std::vector<TokenId> SentencePieceTokenizer::EncodeText(std::string_view text,
                                                        const EncodeOptions& options) const {
  return (options.at_start ? processor_ : later_sections_)->EncodeAsIds(text);
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
