#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/json/body_json.h"
#include "coordinator/json/json_shape.h"
#include "proto/base/error.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace scorecast::coordinator {

// How a value of a body becomes a field of a message.

/// Reads a value, whose texts are moved, into a field that is empty. `name` is the client's name of
/// the field. Returns the 400 if the value does not have the shape.
std::optional<proto::Error> ReadField(BodyJson& value, const JsonShape& shape,
                                      const std::string& name, google::protobuf::Message& message,
                                      const google::protobuf::FieldDescriptor& field);

/// Absent if the value is no integer of 64 bits with a sign. As in JSON Schema 2020-12, a whole
/// number is an integer however it is written: 8, 8.0 and 8e0 are the same.
std::optional<std::int64_t> Int64(const BodyJson& value);
/// Absent if the value is no boolean of this shape.
std::optional<bool> BoolOf(const BodyJson& value, const JsonShape& shape);

/// The 400 of a field that must be `wanted`.
proto::Error WrongType(const std::string& field, std::string_view wanted);

}  // namespace scorecast::coordinator
