#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace scorecast::coordinator {

/// A field of a serialized protobuf message: a number, or the bytes of a string or message.
struct ProtobufField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

/// Reads the fields of a protobuf message one by one. libsentencepiece exports a protobuf library
/// of its own, but not the generated classes of its messages.
class ProtobufFields {
 public:
  explicit ProtobufFields(std::string_view message) : rest_(message) {}

  /// Nullopt at the end of the message, and if the message is malformed.
  std::optional<ProtobufField> Next();

 private:
  std::uint64_t ReadVarint();
  std::string_view ReadBytes(std::uint64_t size);

  std::string_view rest_;
};

}  // namespace scorecast::coordinator
