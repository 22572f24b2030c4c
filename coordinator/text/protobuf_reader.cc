#include "coordinator/text/protobuf_reader.h"

namespace scorecast::coordinator {

std::optional<ProtobufField> ProtobufReader::Next() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  const std::uint64_t tag = Varint();
  ProtobufField field{.number = tag >> 3};
  switch (tag & 7) {
    case 0:
      field.value = Varint();
      return field;
    case 1:
      return Bytes(8, field);
    case 2:
      return Bytes(Varint(), field);
    case 5:
      return Bytes(4, field);
    default:
      return std::nullopt;
  }
}

std::uint64_t ProtobufReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) {
      break;
    }
  }
  return value;
}

std::optional<ProtobufField> ProtobufReader::Bytes(std::uint64_t size, ProtobufField field) {
  if (size > rest_.size()) {
    return std::nullopt;
  }
  field.bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return field;
}

}  // namespace scorecast::coordinator
