#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/json/body_form.h"
#include "coordinator/json/body_json.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace google::protobuf {
class Message;
}

namespace scorecast::coordinator {

/// What a body says besides the message that is read from it.
struct BodyNotes {
  /// Fields that are given by another name than their usual one.
  std::vector<const FormField*> other_names;
  /// Lists that are given but empty, which a message cannot tell from absent ones.
  std::vector<const google::protobuf::FieldDescriptor*> empty_lists;
};

/// Reads a body, whose texts are moved, into `message`, which is empty and of the form's type. Sets
/// the defaults of fields that are absent. Checks the types of fields, but not their values. A
/// whole number is an integer however it is written (8, 8.0, 8e0). A field that is null counts as
/// absent. If a key is there twice, its last value counts.
///
/// The first fault is an error: a body that is not an object (400 "wrong_type"); a parameter that
/// the form refuses, with a value that is not neutral ("not_supported"); a required field that is
/// absent ("missing_field"); then what is wrong with each field, in their order.
proto::Expected<BodyNotes> ReadBody(BodyJson body, const BodyForm& form,
                                    google::protobuf::Message& message);

/// The same for an object in a body. `name` is the client's name of it.
std::optional<proto::Error> ReadObject(BodyJson& object, const BodyForm& form,
                                       const std::string& name, google::protobuf::Message& message);

/// Sets the defaults of fields that are absent in a message that a client has sent as such. A 400
/// "missing_field" if a value that may have several types has none.
std::optional<proto::Error> CompleteMessage(const BodyForm& form,
                                            google::protobuf::Message& message);

}  // namespace scorecast::coordinator
