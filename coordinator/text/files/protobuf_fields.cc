#include "coordinator/text/files/protobuf_fields.h"

#include <algorithm>

namespace scorecast::coordinator {

std::optional<ProtobufField> ProtobufFields::Next() {
  const std::uint64_t tag = ReadVarint();
  ProtobufField field{.number = tag >> 3};
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

std::uint64_t ProtobufFields::ReadVarint() {
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

std::string_view ProtobufFields::ReadBytes(std::uint64_t size) {
  const std::string_view bytes = rest_.substr(0, std::min<std::uint64_t>(size, rest_.size()));
  rest_.remove_prefix(bytes.size());
  return bytes;
}

}  // namespace scorecast::coordinator
