#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace scorecast::coordinator {

/// A field of a serialized protobuf message: a number, or bytes.
struct ProtobufField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

/// Reads the fields of a message one by one. libsentencepiece exports a protobuf library of its
/// own, but not the classes of its messages.
class ProtobufReader {
 public:
  /// The bytes of `message` must outlive the reader and its fields.
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  /// Nullopt at the end, or if the message is malformed.
  std::optional<ProtobufField> Next();

 private:
  std::uint64_t Varint();
  std::optional<ProtobufField> Bytes(std::uint64_t size, ProtobufField field);

  std::string_view rest_;
};

}  // namespace scorecast::coordinator
