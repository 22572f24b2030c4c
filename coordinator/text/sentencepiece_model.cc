#include "coordinator/text/sentencepiece_model.h"

#include <cstdint>
#include <optional>

#include "coordinator/text/files/protobuf_fields.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr char32_t kSpelledSpace = 0x2581;  // "▁"

// Numbers of fields in SentencePiece's sentencepiece_model.proto.
constexpr std::uint64_t kPieces = 1;
constexpr std::uint64_t kTrainerSpec = 2;
constexpr std::uint64_t kNormalizerSpec = 3;
constexpr std::uint64_t kPieceText = 1;
constexpr std::uint64_t kPieceType = 3;
constexpr std::uint64_t kNormal = 1;       // A value of kPieceType, and its default.
constexpr std::uint64_t kUserDefined = 4;  // Another one.
constexpr std::uint64_t kModelType = 3;
constexpr std::uint64_t kUnigram = 1;  // A value of kModelType, and its default.
constexpr std::uint64_t kBpe = 2;      // Another value of kModelType.
constexpr std::uint64_t kByteFallback = 35;
constexpr std::uint64_t kTreatWhitespaceAsSuffix = 24;
constexpr std::uint64_t kPrecompiledCharsmap = 2;
constexpr std::uint64_t kRemoveExtraWhitespaces = 4;
constexpr std::uint64_t kEscapeWhitespaces = 5;

}  // namespace

std::vector<std::pair<proto::TokenId, std::string>> UserDefinedPieces(std::string_view model) {
  std::vector<std::pair<proto::TokenId, std::string>> pieces;
  proto::TokenId id = 0;
  ProtobufFields fields(model);
  while (const std::optional<ProtobufField> field = fields.Next()) {
    if (field->number != kPieces) {
      continue;
    }
    std::string_view text;
    std::uint64_t type = 0;
    ProtobufFields piece(field->bytes);
    while (const std::optional<ProtobufField> part = piece.Next()) {
      if (part->number == kPieceText) {
        text = part->bytes;
      } else if (part->number == kPieceType) {
        type = part->value;
      }
    }
    if (type == kUserDefined) {
      pieces.emplace_back(id, text);
    }
    ++id;
  }
  return pieces;
}

SentencePieceCuts::SentencePieceCuts(std::string_view model) {
  std::uint64_t type = kUnigram;
  bool is_plain = true;
  bool is_unmapped = true;
  ProtobufFields fields(model);
  while (const std::optional<ProtobufField> field = fields.Next()) {
    std::string_view piece;
    std::uint64_t piece_type = kNormal;
    ProtobufFields parts(field->bytes);
    while (const std::optional<ProtobufField> part = parts.Next()) {
      if (field->number == kPieces && part->number == kPieceText) {
        piece = part->bytes;
      } else if (field->number == kPieces && part->number == kPieceType) {
        piece_type = part->value;
      } else if (field->number == kTrainerSpec && part->number == kModelType) {
        type = part->value;
      } else if (field->number == kTrainerSpec && part->number == kByteFallback) {
        has_byte_fallback_ = part->value != 0;
      } else if (field->number == kTrainerSpec && part->number == kTreatWhitespaceAsSuffix) {
        is_plain = is_plain && part->value == 0;
      } else if (field->number == kNormalizerSpec && part->number == kPrecompiledCharsmap) {
        is_unmapped = is_unmapped && part->bytes.empty();
      } else if (field->number == kNormalizerSpec && part->number == kEscapeWhitespaces) {
        is_plain = is_plain && part->value != 0;
      } else if (field->number == kNormalizerSpec && part->number == kRemoveExtraWhitespaces) {
        removes_extra_spaces_ = part->value != 0;
      }
    }
    AddPiece(piece, piece_type == kNormal);
  }
  is_known_ = type == kBpe && is_plain && is_unmapped;
  keeps_characters_ = (type == kBpe || type == kUnigram) && is_plain && is_unmapped;
  pairs_.Finish();
}

void SentencePieceCuts::AddPiece(std::string_view piece, bool is_normal) {
  if (piece.empty() || !IsValidUtf8(piece)) {
    return;
  }
  pairs_.Add(piece);
  longest_.AddCharacters(piece);
  const CodePoint first = FirstCodePoint(piece);
  if (first.length == piece.size()) {
    characters_.insert(first.value);
    if (is_normal) {
      normal_characters_.insert(first.value);
    }
  }
}

std::int64_t SentencePieceCuts::LeastTokens(std::string_view text) const {
  if (!keeps_characters_) {
    return 0;
  }
  LongestTokens::Sum sum;
  while (!text.empty()) {
    const CodePoint character = FirstCodePoint(text);
    text.remove_prefix(character.length);
    const char32_t spelled = character.value == ' ' ? kSpelledSpace : character.value;
    if (removes_extra_spaces_ && spelled == kSpelledSpace) {
      continue;
    }
    const std::uint64_t longest = longest_.With(spelled);
    if (normal_characters_.contains(spelled) || (has_byte_fallback_ && longest > 0)) {
      sum.Add(1, longest);
    } else if (has_byte_fallback_) {
      sum.Add(character.length, 1);
    }
  }
  return sum.tokens();
}

void SentencePieceCuts::GoToLast(OpenPiece& piece) const {
  if (!is_known_) {
    return;
  }
  const std::string_view text = piece.text.text;
  const auto spelled = [](CodePoint character) {
    return character.value == ' ' ? kSpelledSpace : character.value;
  };
  for (std::size_t at = text.size(); at > 0;) {
    const CodePoint after = LastCodePoint(text.substr(0, at));
    at -= after.length;
    if (at == 0) {
      return;
    }
    const CodePoint before = LastCodePoint(text.substr(0, at));
    // Several spaces become one, so there is no cut between them.
    const bool is_inside_spaces = removes_extra_spaces_ && spelled(after) == kSpelledSpace &&
                                  spelled(before) == kSpelledSpace;
    if (!is_inside_spaces && piece.text.places[at] != OpenText::kNoPlace &&
        characters_.contains(spelled(before)) && characters_.contains(spelled(after)) &&
        !pairs_.Contains(spelled(before), spelled(after))) {
      piece.Cut(at, text.size());
      return;
    }
  }
}

}  // namespace scorecast::coordinator
