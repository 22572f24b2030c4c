#include "coordinator/json/json_shape.h"

#include <utility>

#include <google/protobuf/descriptor.h>

#include "coordinator/json/body_form.h"
#include "proto/base/check.h"
#include "proto/json_description.pb.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Kind = JsonShape::Kind;

bool IsListOf(const Descriptor& message, FieldDescriptor::CppType type) {
  return message.field_count() == 1 && message.field(0)->is_repeated() &&
         message.field(0)->cpp_type() == type;
}

bool IsListOfIds(const Descriptor& message) {
  return IsListOf(message, FieldDescriptor::CPPTYPE_INT32);
}

bool IsListOfIds(const FieldDescriptor& field) {
  return field.message_type() != nullptr && IsListOfIds(*field.message_type());
}

/// A message with the lists of several rows.
bool IsListOfLists(const FieldDescriptor& field) {
  const Descriptor* message = field.message_type();
  return message != nullptr && IsListOf(*message, FieldDescriptor::CPPTYPE_MESSAGE) &&
         IsListOfIds(*message->field(0));
}

void SetMessageShape(const Descriptor& message, JsonShape& shape) {
  if (message.options().HasExtension(v1::body)) {
    shape.kind = Kind::kObject;
    shape.form = std::make_shared<const BodyForm>(message);
    return;
  }
  if (message.field_count() == 1 && message.field(0)->is_repeated() && !IsListOfIds(message)) {
    shape = ShapeOf(*message.field(0));
    shape.only = message.field(0);
    return;
  }
  for (int i = 0; i < message.field_count(); ++i) {
    shape.fields.push_back(message.field(i));
  }
  if (IsListOfIds(message)) {
    shape.kind = Kind::kIds;
    return;
  }
  proto::Check(message.real_oneof_decl_count() == 1 &&
                   message.field_count() == message.oneof_decl(0)->field_count(),
               "a message in a request is an object, a list or one value of several types");
  const bool is_labels =
      shape.fields.size() == 2 && IsListOfIds(*shape.fields[0]) && IsListOfLists(*shape.fields[1]);
  shape.kind = is_labels ? Kind::kLabels : Kind::kUnion;
  if (shape.kind == Kind::kUnion) {
    for (const FieldDescriptor* field : shape.fields) {
      shape.shapes.push_back(ShapeOf(*field));
    }
  }
}

Kind KindOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return Kind::kString;
    case FieldDescriptor::CPPTYPE_INT32:
      return Kind::kTokenId;
    case FieldDescriptor::CPPTYPE_INT64:
      return Kind::kInteger;
    case FieldDescriptor::CPPTYPE_UINT64:
      return Kind::kUnsigned;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Kind::kNumber;
    case FieldDescriptor::CPPTYPE_BOOL:
      return Kind::kBool;
    default:
      proto::Check(false, "a request has no fields of this type");
      return Kind::kString;
  }
}

/// What one value of a shape is, or several are.
std::pair<std::string, std::string> NamesOf(const JsonShape& shape) {
  switch (shape.kind) {
    case Kind::kString:
      return {"a string", "strings"};
    case Kind::kTokenId:
      return {"a token id", "token ids"};
    case Kind::kInteger:
      return {"an integer of at most 64 bits", "integers"};
    case Kind::kUnsigned:
      return {"an integer from 0 to 2^64 - 1", "integers from 0 to 2^64 - 1"};
    case Kind::kNumber:
      return {"a number", "numbers"};
    case Kind::kBool:
      return {shape.takes_other_strings ? "true or false, or a string" : "true or false",
              "booleans"};
    case Kind::kAny:
      return {"any JSON", "any JSON"};
    case Kind::kPairs:
    case Kind::kObject:
      return {"an object", "objects"};
    case Kind::kIds:
      return {"a list of token ids", "lists of token ids"};
    case Kind::kLabels:
      return {"a list of token ids, or one such list per item", "lists of token ids"};
    case Kind::kUnion:
      break;
  }
  std::pair<std::string, std::string> names;
  for (const JsonShape& value : shape.shapes) {
    names.first += (names.first.empty() ? "" : " or ") + value.Description();
    names.second += (names.second.empty() ? "" : " or of ") + value.Plural();
  }
  return names;
}

}  // namespace

std::string JsonShape::Description() const {
  const auto [one, several] = NamesOf(*this);
  if (!is_list) {
    return one + (takes_objects ? " or an object with a text" : "");
  }
  const std::string list =
      "a list of " + several + (takes_objects ? " or of objects with a text" : "");
  if (!takes_one) {
    return list;
  }
  if (takes_one_ids) {
    return "a string or a list of token ids, or " + list;
  }
  return std::string("a string") + (kind == Kind::kUnion ? ", or " : " or ") + list;
}

std::string JsonShape::Plural() const { return NamesOf(*this).second; }

JsonShape ShapeOf(const FieldDescriptor& field, const v1::FieldDescription& description) {
  const v1::FieldDescription::Form form = description.form();
  JsonShape shape;
  shape.is_list = field.is_repeated();
  if (form == v1::FieldDescription::PAIRS || form == v1::FieldDescription::OTHERS) {
    const Descriptor& pair = *field.message_type();
    shape.kind = Kind::kPairs;
    shape.is_list = false;
    shape.fields = {pair.FindFieldByName("key"), pair.FindFieldByName("value")};
    proto::Check(field.is_repeated() && shape.fields[0] != nullptr && shape.fields[1] != nullptr,
                 "pairs are messages with a key and a value");
    shape.shapes = {ShapeOf(*shape.fields[0]), ShapeOf(*shape.fields[1])};
    return shape;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    SetMessageShape(*field.message_type(), shape);
  } else {
    shape.kind = form == v1::FieldDescription::ANY ? Kind::kAny : KindOf(field);
  }
  shape.takes_one_ids = form == v1::FieldDescription::TEXTS_OR_IDS;
  shape.takes_one = form == v1::FieldDescription::ONE_OR_MORE || shape.takes_one_ids;
  shape.takes_objects = form == v1::FieldDescription::DOCUMENTS || shape.takes_one_ids;
  shape.takes_strings = form == v1::FieldDescription::BOOL_OR_STRING;
  shape.takes_other_strings = description.has_strings_set();
  return shape;
}

JsonShape ShapeOf(const FieldDescriptor& field) {
  return ShapeOf(field, field.options().GetExtension(v1::json));
}

}  // namespace scorecast::coordinator
