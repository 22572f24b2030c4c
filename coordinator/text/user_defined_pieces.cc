#include "coordinator/text/user_defined_pieces.h"

#include <cstdint>
#include <optional>

#include "coordinator/text/files/protobuf_fields.h"

namespace scorecast::coordinator {
namespace {

// sentencepiece_model.proto: ModelProto has `repeated SentencePiece pieces = 1`, SentencePiece has
// `string piece = 1` and `Type type = 3`.
constexpr std::uint64_t kModelPieces = 1;
constexpr std::uint64_t kPiece = 1;
constexpr std::uint64_t kType = 3;
constexpr std::uint64_t kUserDefined = 4;

}  // namespace

std::vector<std::pair<proto::TokenId, std::string>> UserDefinedPieces(std::string_view model) {
  std::vector<std::pair<proto::TokenId, std::string>> pieces;
  proto::TokenId id = 0;
  ProtobufFields fields(model);
  while (const std::optional<ProtobufField> field = fields.Next()) {
    if (field->number != kModelPieces) {
      continue;
    }
    std::string_view text;
    std::uint64_t type = 0;
    ProtobufFields piece(field->bytes);
    while (const std::optional<ProtobufField> part = piece.Next()) {
      if (part->number == kPiece) {
        text = part->bytes;
      } else if (part->number == kType) {
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

}  // namespace scorecast::coordinator
