#include "coordinator/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <map>
#include <utility>

#include <sentencepiece_processor.h>

#include "coordinator/text/sentencepiece_model.h"
#include "coordinator/text/unicode/open_text.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

using proto::Quoted;
using proto::StartupError;
using sentencepiece::SentencePieceProcessor;

namespace {

/// Returns the processor of a serialized model. It has a dummy prefix as `dummy_prefix` says, or as
/// the model says if that is absent. Throws StartupError.
std::unique_ptr<SentencePieceProcessor> Load(std::string_view model,
                                             std::optional<bool> dummy_prefix,
                                             const std::string& origin) {
  std::string bytes(model);
  if (dummy_prefix) {
    // A ModelProto whose normalizer_spec (field 3) has only add_dummy_prefix (field 3). Protobuf
    // merges a message field that occurs twice, so the other options of the model stay.
    bytes += {'\x1A', '\x02', '\x18', *dummy_prefix ? '\x01' : '\x00'};
  }
  auto processor = std::make_unique<SentencePieceProcessor>();
  const sentencepiece::util::Status status = processor->LoadFromSerializedProto(bytes);
  if (!status.ok() || processor->GetPieceSize() == 0) {
    throw StartupError(origin + ": not a SentencePiece model (" + proto::OneLine(status.message()) +
                       ")");
  }
  return processor;
}

/// The id of the piece with this text.
std::optional<TokenId> FindPiece(const SentencePieceProcessor& processor, const std::string& text) {
  const TokenId id = processor.PieceToId(text);
  return processor.IdToPiece(id) == text ? std::optional(id) : std::nullopt;
}

/// The added tokens of the configuration. If a token is a piece of the model, it gets the piece's
/// id.
std::vector<AddedToken> ConfiguredTokens(const TokenizerConfig& config,
                                         const SentencePieceProcessor& processor) {
  std::vector<AddedToken> tokens;
  std::map<TokenId, std::string> texts;
  for (AddedToken token : config.added_tokens) {
    if (token.content.empty()) {
      continue;
    }
    token.id = FindPiece(processor, token.content).value_or(token.id);
    const auto [other, is_new] = texts.emplace(token.id, token.content);
    if (!is_new) {
      throw StartupError(config.added_tokens_origin + ": the id of the added token " +
                         Quoted(token.content) + ", " + std::to_string(token.id) +
                         ", already belongs to " + Quoted(other->second));
    }
    config.MarkEscapable(token);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string_view model,
                                               const TokenizerConfig& config,
                                               const std::string& origin)
    : processor_(Load(model, config.add_prefix_space, origin)),
      later_sections_(Load(model, false, origin)),
      added_tokens_(ConfiguredTokens(config, *processor_), Normalizer(),
                    config.split_special_tokens),
      cuts_(model),
      vocab_size_(processor_->GetPieceSize()) {
  if (cuts_.removes_extra_spaces()) {
    spaced_sections_ = Load(model, true, origin);
  }
  for (const AddedToken& token : added_tokens_.tokens()) {
    vocab_size_ = std::max<std::int64_t>(vocab_size_, token.id + 1);
    added_texts_.emplace(token.id, token.content);
    if (token.escapable && token.id != processor_->unk_id()) {
      escaped_texts_.emplace(token.id, token.content);
    }
  }
  for (const auto& [id, text] : UserDefinedPieces(model)) {
    AddedToken piece{.id = id, .content = text};
    config.MarkEscapable(piece);
    if (piece.escapable) {
      escaped_texts_.emplace(id, text);
    }
  }
  if (config.add_bos_token.value_or(processor_->bos_id() >= 0)) {
    bos_ = AddedAround(config, config.bos_token, processor_->bos_id(), "bos_token");
    added_prefix_.push_back(*bos_);
  }
  if (config.add_eos_token.value_or(false)) {
    added_suffix_.push_back(
        AddedAround(config, config.eos_token, processor_->eos_id(), "eos_token"));
  }
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

TokenId SentencePieceTokenizer::AddedAround(const TokenizerConfig& config,
                                            const std::optional<std::string>& named,
                                            TokenId of_model, const std::string& name) const {
  if (named) {
    for (const AddedToken& token : added_tokens_.tokens()) {
      if (token.content == *named) {
        return token.id;
      }
    }
    if (const std::optional<TokenId> piece = FindPiece(*processor_, *named)) {
      return *piece;
    }
  }
  if (of_model < 0) {
    throw StartupError(config.origin + ": add_" + name + " is true, but " + name +
                       (named ? " " + Quoted(*named) + " is not in the vocabulary"
                              : " is not set, and the model has none"));
  }
  return of_model;
}

bool SentencePieceTokenizer::IsPiece(TokenId id) const {
  return id >= 0 && id < processor_->GetPieceSize();
}

void SentencePieceTokenizer::EncodeText(std::string_view text, const EncodeOptions& options,
                                        TokenCollector& tokens) const {
  const SentencePieceProcessor* processor =
      options.at_start                                                     ? processor_.get()
      : spaced_sections_ && text.starts_with(' ') && !options.behind_token ? spaced_sections_.get()
                                                                           : later_sections_.get();
  added_tokens_.Cut(text, options, [&](const AddedTokens::Part& part) {
    tokens.Poll();
    if (part.id >= 0) {
      tokens.Add(part.id);
    } else {
      if (static_cast<std::int64_t>(part.text.size()) > tokens.left()) {
        tokens.ExpectAtLeast(cuts_.LeastTokens(part.text));
      }
      // The library's encoding cannot be interrupted.
      tokens.ExpectUncut(part.text.size());
      for (const TokenId id : processor->EncodeAsIds(part.text)) {
        tokens.Add(id);
      }
    }
    processor = later_sections_.get();
  });
}

OpenEnd SentencePieceTokenizer::FindOpenEnd(std::string_view text,
                                            const EncodeOptions& options) const {
  if (!IsValidUtf8(text)) {
    return {};
  }
  OpenPiece piece{.text = OpenText::FromRaw(text)};
  added_tokens_.GoToLast(options, piece);
  cuts_.GoToLast(piece);
  return {.cut = piece.cut, .least_tokens = cuts_.LeastTokens(piece.text.text)};
}

std::string_view SentencePieceTokenizer::EscapedSpelling(TokenId id) const {
  const auto text = escaped_texts_.find(id);
  return text == escaped_texts_.end() ? std::string_view() : text->second;
}

std::string SentencePieceTokenizer::Decode(std::span<const TokenId> ids) const {
  // The library does not know added tokens. Unknown tokens are decoded in their places, because
  // these are no white space either.
  std::vector<int> pieces;
  std::vector<std::string_view> texts;  // Text of each token that does not come from the library.
  for (const TokenId id : ids) {
    const auto added = added_texts_.find(id);
    const bool is_control = IsPiece(id) && processor_->IsControl(id);
    if (added != added_texts_.end()) {
      pieces.push_back(is_control ? id : processor_->unk_id());
      texts.emplace_back(added->second);
    } else if (is_control) {
      // The library decodes control tokens to no text at all. Here their texts are kept, each in
      // its place.
      pieces.push_back(id);
      texts.emplace_back(processor_->IdToPiece(id));
    } else if (IsPiece(id)) {
      pieces.push_back(id);
      texts.emplace_back();
    }
  }
  const auto decoded = processor_->DecodeIdsAsImmutableProto(pieces);
  std::string text;
  std::size_t i = 0;
  for (const auto& piece : decoded.pieces()) {
    text += texts[i].empty() ? std::string_view(piece.surface()) : texts[i];
    ++i;
  }
  return text;
}

std::string SentencePieceTokenizer::Spelling(TokenId id) const {
  const auto added = added_texts_.find(id);
  if (added != added_texts_.end()) {
    return added->second;
  }
  return IsPiece(id) ? processor_->IdToPiece(id) : std::string();
}

bool SentencePieceTokenizer::IsSpecial(TokenId id) const {
  if (IsPiece(id) && (processor_->IsControl(id) || processor_->IsUnknown(id))) {
    return true;
  }
  return std::ranges::any_of(added_tokens_.tokens(), [id](const AddedToken& token) {
    return token.id == id && token.special;
  });
}

std::vector<SpecialToken> SentencePieceTokenizer::special_tokens() const {
  std::map<TokenId, std::string> texts(added_texts_.begin(), added_texts_.end());
  for (int id = 0; id < processor_->GetPieceSize(); ++id) {
    if (processor_->IsControl(id) || processor_->IsUnknown(id)) {
      texts.emplace(id, processor_->IdToPiece(id));
    }
  }
  std::vector<SpecialToken> tokens;
  for (const auto& [id, text] : texts) {
    SpecialToken& token = tokens.emplace_back(SpecialToken{id, text});
    const auto added = std::ranges::find(added_tokens_.tokens(), id, &AddedToken::id);
    if (added != added_tokens_.tokens().end()) {
      token.single_word = added->single_word;
      token.takes_space_before = added->lstrip;
      token.takes_space_behind = added->rstrip;
    }
  }
  return tokens;
}

}  // namespace scorecast::coordinator
