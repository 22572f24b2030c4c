#include "coordinator/text/sentencepiece_cuts.h"

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
constexpr std::uint64_t kModelType = 3;
constexpr std::uint64_t kBpe = 2;  // A value of kModelType.
constexpr std::uint64_t kTreatWhitespaceAsSuffix = 24;
constexpr std::uint64_t kPrecompiledCharsmap = 2;
constexpr std::uint64_t kRemoveExtraWhitespaces = 4;
constexpr std::uint64_t kEscapeWhitespaces = 5;

}  // namespace

SentencePieceCuts::SentencePieceCuts(std::string_view model) {
  bool is_bpe = false;
  bool is_plain = true;
  ProtobufFields fields(model);
  while (const std::optional<ProtobufField> field = fields.Next()) {
    ProtobufFields parts(field->bytes);
    while (const std::optional<ProtobufField> part = parts.Next()) {
      if (field->number == kPieces && part->number == kPieceText) {
        AddPiece(part->bytes);
      } else if (field->number == kTrainerSpec && part->number == kModelType) {
        is_bpe = part->value == kBpe;
      } else if (field->number == kTrainerSpec && part->number == kTreatWhitespaceAsSuffix) {
        is_plain = is_plain && part->value == 0;
      } else if (field->number == kNormalizerSpec && part->number == kPrecompiledCharsmap) {
        is_plain = is_plain && part->bytes.empty();
      } else if (field->number == kNormalizerSpec && part->number == kEscapeWhitespaces) {
        is_plain = is_plain && part->value != 0;
      } else if (field->number == kNormalizerSpec && part->number == kRemoveExtraWhitespaces) {
        removes_extra_spaces_ = part->value != 0;
      }
    }
  }
  is_known_ = is_bpe && is_plain;
  pairs_.Finish();
}

void SentencePieceCuts::AddPiece(std::string_view piece) {
  if (piece.empty() || !IsValidUtf8(piece)) {
    return;
  }
  pairs_.Add(piece);
  const CodePoint first = FirstCodePoint(piece);
  if (first.length == piece.size()) {
    characters_.insert(first.value);
  }
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
    // Several spaces become one, so they stay together.
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
