#include "coordinator/text/user_defined_pieces.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace scorecast::coordinator {
namespace {

// sentencepiece_model.proto: ModelProto has `repeated SentencePiece pieces = 1`, SentencePiece has
// `string piece = 1` and `Type type = 3`.
constexpr std::uint64_t kPieces = 1;
constexpr std::uint64_t kPiece = 1;
constexpr std::uint64_t kType = 3;
constexpr std::uint64_t kUserDefined = 4;

/// A field of a message: a number, or the bytes of a string or message.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

/// Reads the fields of a protobuf message one by one. libsentencepiece exports a protobuf library
/// of its own, but not the generated classes of its messages.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : rest_(message) {}

  /// Nothing at the end of the message, or if it is malformed.
  std::optional<Field> Next() {
    const std::uint64_t tag = ReadVarint();
    Field field{.number = tag >> 3};
    switch (tag & 7) {
      case 0:
        field.value = ReadVarint();
        break;
      case 1:
        ReadBytes(8);
        break;
      case 2:
        field.bytes = ReadBytes(ReadVarint());
        break;
      case 5:
        ReadBytes(4);
        break;
      default:
        return std::nullopt;
    }
    return field.number == 0 ? std::nullopt : std::optional(field);
  }

 private:
  std::uint64_t ReadVarint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    return 0;
  }

  std::string_view ReadBytes(std::uint64_t size) {
    const std::string_view bytes = rest_.substr(0, std::min<std::uint64_t>(size, rest_.size()));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  std::string_view rest_;
};

}  // namespace

std::vector<std::pair<proto::TokenId, std::string>> UserDefinedPieces(std::string_view model) {
  std::vector<std::pair<proto::TokenId, std::string>> pieces;
  proto::TokenId id = 0;
  FieldReader fields(model);
  while (const std::optional<Field> field = fields.Next()) {
    if (field->number != kPieces) {
      continue;
    }
    std::string_view text;
    std::uint64_t type = 0;
    FieldReader piece(field->bytes);
    while (const std::optional<Field> part = piece.Next()) {
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
