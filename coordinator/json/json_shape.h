#pragma once

#include <memory>
#include <string>
#include <vector>

namespace google::protobuf {
class FieldDescriptor;
}

namespace scorecast::v1 {
class FieldDescription;
}

namespace scorecast::coordinator {

class BodyForm;

/// The JSON that a field may have. It follows from the type of the message's field and from the
/// field's `form` in proto/json_description.proto.
struct JsonShape {
  enum class Kind {
    kString,
    kTokenId,
    kInteger,
    kUnsigned,  ///< An integer from 0 to 2^64 - 1.
    kNumber,
    kBool,
    kAny,
    kPairs,   ///< An object: a list of messages with a key and a value.
    kIds,     ///< A message with a list of token ids.
    kLabels,  ///< A message with a list of token ids, or with a list of such lists.
    kUnion,   ///< A message with one value of several types.
    kObject,  ///< A message with a description of its own: an object.
  };
  Kind kind = Kind::kString;
  bool is_list = false;
  bool takes_one = false;      ///< Of a list: a string counts as a list of one.
  bool takes_one_ids = false;  ///< Of a list of unions: a list of ids counts as a list of one.
  bool takes_objects = false;  ///< Of strings: each may also be {"text": string}.
  bool takes_strings = false;  ///< Of a boolean: also as "true" or "False".
  bool takes_other_strings = false;  ///< Of a boolean: see FormField::strings.
  /// kIds: the list. kLabels: both values. kUnion: the values. kPairs: the key and the value.
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  std::vector<JsonShape> shapes;         ///< kUnion and kPairs: those of `fields`.
  std::shared_ptr<const BodyForm> form;  ///< kObject: how it becomes the message.
  /// The only field of a message that has the value, if the message is there only because a list
  /// cannot be a value of several types. Otherwise null.
  const google::protobuf::FieldDescriptor* only = nullptr;

  /// What a value is, such as "a list of token ids".
  std::string Description() const;
  /// What several values are, such as "lists of token ids".
  std::string Plural() const;
};

/// The shape of a message's field, as its own options describe it.
JsonShape ShapeOf(const google::protobuf::FieldDescriptor& field);
/// The shape of a field that another one describes.
JsonShape ShapeOf(const google::protobuf::FieldDescriptor& field,
                  const v1::FieldDescription& description);

}  // namespace scorecast::coordinator
