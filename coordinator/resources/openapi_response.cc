#include "coordinator/resources/openapi_response.h"

#include <string>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace {

using google::protobuf::FieldDescriptor;
using Member = ResponseForm::Member;

OrderedJson Typed(const char* type) { return {{"type", type}}; }

OrderedJson ListOfAny(OrderedJson items) {
  OrderedJson list = Typed("array");
  list["items"] = std::move(items);
  return list;
}

OrderedJson AnyOf(OrderedJson one, OrderedJson other) {
  OrderedJson schema;
  schema["anyOf"] = OrderedJson::array({std::move(one), std::move(other)});
  return schema;
}

OrderedJson ElementSchema(const Member& member, OrderedJson& schemas) {
  if (member.form != nullptr) {
    return ResponseSchema(*member.form, schemas);
  }
  switch (member.described->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Typed("number");
    case FieldDescriptor::CPPTYPE_BOOL:
      return Typed("boolean");
    case FieldDescriptor::CPPTYPE_STRING:
      return Typed("string");
    default:
      return Typed("integer");
  }
}

OrderedJson MemberSchema(const Member& member, OrderedJson& schemas) {
  OrderedJson schema;
  if (member.kind == Member::Kind::kConstant) {
    const OrderedJson value = OrderedJson::parse(member.constant);
    if (value.is_null()) {
      return Typed("null");
    }
    schema = ElementSchema(member, schemas);
    schema["const"] = value;
    return schema;
  }
  schema = member.is_json ? OrderedJson::object() : ElementSchema(member, schemas);
  if (member.keyed_by != nullptr) {
    OrderedJson object = Typed("object");
    object["additionalProperties"] = std::move(schema);
    schema = std::move(object);
  } else if (member.described->is_repeated()) {
    schema = ListOfAny(std::move(schema));
    if (member.grouped_by != nullptr) {
      schema = AnyOf(schema, ListOfAny(schema));
    }
  }
  return member.if_empty == Member::IfEmpty::kNull ? AnyOf(std::move(schema), Typed("null"))
                                                   : schema;
}

/// Whether every response has the member.
bool IsRequired(const Member& member) {
  return member.if_empty == Member::IfEmpty::kNull || member.source == nullptr ||
         (member.if_empty == Member::IfEmpty::kWritten && !member.source->has_presence());
}

OrderedJson ObjectSchema(const ResponseForm& form, OrderedJson& schemas) {
  OrderedJson schema = Typed("object");
  OrderedJson required = OrderedJson::array();
  for (const Member& member : form.members) {
    schema["properties"][member.described->name()] = MemberSchema(member, schemas);
    if (IsRequired(member)) {
      required.push_back(member.described->name());
    }
  }
  schema["required"] = std::move(required);
  return schema;
}

}  // namespace

OrderedJson ResponseSchema(const ResponseForm& form, OrderedJson& schemas) {
  if (form.shape == ResponseForm::Shape::kOnlyMember) {
    return MemberSchema(form.members.front(), schemas);
  }
  OrderedJson schema;
  if (form.shape == ResponseForm::Shape::kList) {
    schema = Typed("array");
    for (const Member& member : form.members) {
      schema["prefixItems"].push_back(MemberSchema(member, schemas));
    }
    // Generators of clients that do not know prefixItems read this: any of them.
    schema["items"]["anyOf"] = schema["prefixItems"];
    schema["minItems"] = form.members.size();
    schema["maxItems"] = form.members.size();
    return schema;
  }
  if (!schemas.contains(form.name)) {
    OrderedJson object = ObjectSchema(form, schemas);
    schemas[form.name] = std::move(object);
  }
  schema["$ref"] = "#/components/schemas/" + form.name;
  return schema;
}

}  // namespace scorecast::coordinator
