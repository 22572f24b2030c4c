#include "coordinator/transports/socket/message_values.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace scorecast::coordinator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

class ValueCounter {
 public:
  ValueCounter(std::string_view bytes, std::int64_t limit)
      : in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
        left_(limit) {}

  bool exceeds() const { return left_ < 0; }

  /// Counts the fields up to the end of the message. False at a fault, or if there are too many.
  /// The recursion is as deep as the types are nested.
  bool CountFields(const Descriptor& type) {
    int groups = 0;  // Fields of a group, which no type of ours has, are unknown.
    while (const std::uint32_t tag = in_.ReadTag()) {
      const FieldDescriptor* const field =
          groups > 0 ? nullptr : type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const auto wire_type = WireFormatLite::GetTagWireType(tag);
      if (wire_type == WireFormatLite::WIRETYPE_START_GROUP) {
        ++groups;
      } else if (wire_type == WireFormatLite::WIRETYPE_END_GROUP) {
        --groups;
      }
      const bool is_small = field != nullptr && field->is_repeated() && IsSmall(*field);
      if (groups < 0 || (!is_small && !Count()) || !CountValue(wire_type, field)) {
        return false;
      }
    }
    return in_.ConsumedEntireMessage() && groups == 0;
  }

 private:
  static bool IsSmall(const FieldDescriptor& field) {
    return field.cpp_type() == FieldDescriptor::CPPTYPE_INT32;
  }

  bool Count() { return --left_ >= 0; }

  /// Reads the value of a field; `field` is null if it is unknown.
  bool CountValue(WireFormatLite::WireType wire_type, const FieldDescriptor* field) {
    std::uint64_t number = 0;
    switch (wire_type) {
      case WireFormatLite::WIRETYPE_VARINT:
        return in_.ReadVarint64(&number);
      case WireFormatLite::WIRETYPE_FIXED64:
        return in_.Skip(8);
      case WireFormatLite::WIRETYPE_FIXED32:
        return in_.Skip(4);
      case WireFormatLite::WIRETYPE_START_GROUP:
      case WireFormatLite::WIRETYPE_END_GROUP:
        return true;
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return CountDelimited(field);
    }
    return false;
  }

  bool CountDelimited(const FieldDescriptor* field) {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length) || length > in_.BytesUntilLimit()) {
      return false;
    }
    const bool is_message = field != nullptr && field->message_type() != nullptr;
    const bool is_packed = field != nullptr && field->is_packable() && !IsSmall(*field);
    if (!is_message && !is_packed) {
      return in_.Skip(length);
    }
    const auto limit = in_.PushLimit(length);
    const bool goes_on = is_message ? CountFields(*field->message_type()) : CountPacked();
    in_.PopLimit(limit);
    return goes_on;
  }

  /// Counts packed numbers, which all have the wire type varint in our types.
  bool CountPacked() {
    std::uint64_t number = 0;
    while (in_.BytesUntilLimit() > 0) {
      if (!Count() || !in_.ReadVarint64(&number)) {
        return false;
      }
    }
    return true;
  }

  google::protobuf::io::CodedInputStream in_;
  std::int64_t left_;
};

}  // namespace

bool HasMoreValues(std::string_view bytes, const Descriptor& type, std::int64_t limit) {
  ValueCounter counter(bytes, limit);
  counter.CountFields(type);
  return counter.exceeds();
}

}  // namespace scorecast::coordinator
