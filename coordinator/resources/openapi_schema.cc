#include "coordinator/resources/openapi_schema.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace {

OrderedJson OfType(std::string_view type) { return {{"type", type}}; }

OrderedJson ListOf(OrderedJson items) {
  OrderedJson list = OfType("array");
  list["items"] = std::move(items);
  return list;
}

/// Whole bounds are written as integers, which is how people write them.
OrderedJson BoundJson(double bound) {
  const bool is_whole = bound == std::floor(bound) && std::abs(bound) < 1e15;
  return is_whole ? OrderedJson(static_cast<std::int64_t>(bound)) : OrderedJson(bound);
}

OrderedJson NumberOf(std::string_view type, const FormField& field) {
  OrderedJson number = OfType(type);
  if (field.minimum) {
    number["minimum"] = BoundJson(*field.minimum);
  }
  if (field.maximum) {
    number["maximum"] = BoundJson(*field.maximum);
  }
  return number;
}

OrderedJson IntegerOf(const FormField& field) {
  OrderedJson integer = NumberOf("integer", field);
  integer["format"] = "int64";
  return integer;
}

OrderedJson OneTokenId() {
  OrderedJson id = OfType("integer");
  id["minimum"] = 0;
  id["format"] = "int32";
  return id;
}

OrderedJson TokenIds() { return ListOf(OneTokenId()); }

/// See DocumentSchema.
OrderedJson Document() { return {{"$ref", "#/components/schemas/Document"}}; }

OrderedJson Bool(const JsonShape& shape) {
  OrderedJson alternatives = OrderedJson::array({OfType("boolean")});
  if (shape.takes_strings) {
    OrderedJson text = OfType("string");
    if (!shape.takes_other_strings) {
      // Generators of clients make names of an enum's values, and these differ only in case.
      text["pattern"] = "^([Tt]rue|[Ff]alse)$";
    }
    alternatives.push_back(std::move(text));
  }
  return alternatives;
}

OrderedJson Unsigned() {
  OrderedJson integer = OfType("integer");
  integer["minimum"] = 0;
  integer["maximum"] = std::numeric_limits<std::uint64_t>::max();
  return integer;
}

/// One schema for several alternatives.
OrderedJson AnyOf(OrderedJson alternatives) {
  if (alternatives.size() == 1) {
    return std::move(alternatives.front());
  }
  return {{"anyOf", std::move(alternatives)}};
}

/// The alternatives that one value of a shape may be. `field` has the bounds of numbers.
OrderedJson OneOf(const JsonShape& shape, const FormField& field) {
  switch (shape.kind) {
    case JsonShape::Kind::kString:
      return OrderedJson::array({shape.takes_objects ? Document() : OfType("string")});
    case JsonShape::Kind::kTokenId:
      return OrderedJson::array({OneTokenId()});
    case JsonShape::Kind::kInteger:
      return OrderedJson::array({IntegerOf(field)});
    case JsonShape::Kind::kUnsigned:
      return OrderedJson::array({Unsigned()});
    case JsonShape::Kind::kNumber:
      return OrderedJson::array({NumberOf("number", field)});
    case JsonShape::Kind::kBool:
      return Bool(shape);
    case JsonShape::Kind::kAny:
      return OrderedJson::array({OrderedJson::object()});
    case JsonShape::Kind::kPairs: {
      OrderedJson object = OfType("object");
      object["additionalProperties"] = AnyOf(OneOf(shape.shapes[1], field));
      return OrderedJson::array({std::move(object)});
    }
    case JsonShape::Kind::kObject:
      return OrderedJson::array({SchemaOf(*shape.form)});
    case JsonShape::Kind::kIds:
      return OrderedJson::array({TokenIds()});
    case JsonShape::Kind::kLabels:
      return OrderedJson::array({TokenIds(), ListOf(TokenIds())});
    case JsonShape::Kind::kUnion:
      break;
  }
  OrderedJson alternatives = OrderedJson::array();
  for (const JsonShape& value : shape.shapes) {
    OrderedJson one = OneOf(value, field);
    if (value.is_list) {
      one = OrderedJson::array({ListOf(AnyOf(std::move(one)))});
    }
    for (OrderedJson& alternative : one) {
      alternatives.push_back(std::move(alternative));
    }
  }
  return alternatives;
}

/// The alternatives that a value may be. The values of a list have one type.
OrderedJson AlternativesOf(const FormField& field) {
  OrderedJson one = OneOf(field.shape, field);
  if (!field.shape.is_list) {
    return one;
  }
  OrderedJson alternatives = OrderedJson::array();
  if (field.shape.takes_one) {
    alternatives.push_back(OfType("string"));
  }
  if (field.shape.takes_one_ids) {
    alternatives.push_back(TokenIds());
    one.push_back(Document());
  }
  for (OrderedJson& alternative : one) {
    alternatives.push_back(ListOf(std::move(alternative)));
  }
  return alternatives;
}

OrderedJson SchemaOf(const FormField& field) {
  OrderedJson alternatives = AlternativesOf(field);
  if (!field.is_required) {
    alternatives.push_back(OfType("null"));
  }
  OrderedJson schema;
  if (alternatives.size() == 1) {
    schema = std::move(alternatives.front());
  } else {
    schema["anyOf"] = std::move(alternatives);
  }
  schema["description"] = field.description;
  if (!field.default_json.empty()) {
    schema["default"] = OrderedJson::parse(field.default_json);
  }
  return schema;
}

/// The schema of a neutral value that is no string. It cannot say which boolean it is: generators
/// of clients read only strings and numbers in an enum, and only of one type.
OrderedJson NeutralSchema(const OrderedJson& value) {
  OrderedJson schema = OfType(value.is_boolean()  ? "boolean"
                              : value.is_number() ? "number"
                              : value.is_array()  ? "array"
                                                  : "object");
  if (value.is_number()) {
    schema["type"] = value.is_number_integer() ? "integer" : "number";
    schema["minimum"] = value;
    schema["maximum"] = value;
  } else if (value.is_array()) {
    schema["items"] = value.empty() ? OrderedJson::object() : OfType("string");
    schema["maxItems"] = value.size();
  } else if (value.is_object()) {
    schema["maxProperties"] = value.size();
  }
  return schema;
}

OrderedJson SchemaOf(const RefusedField& refused) {
  OrderedJson alternatives = OrderedJson::array();
  OrderedJson texts = OrderedJson::array();
  std::string listed;
  for (const OrderedJson& value : OrderedJson::parse(refused.neutral_json)) {
    listed += (listed.empty() ? ": only " : " or ") + value.dump();
    if (value.is_string()) {
      texts.push_back(value);
    } else {
      alternatives.push_back(NeutralSchema(value));
    }
  }
  if (!texts.empty()) {
    OrderedJson text = OfType("string");
    text["enum"] = std::move(texts);
    alternatives.push_back(std::move(text));
  }
  OrderedJson schema = OrderedJson::object();
  if (!alternatives.empty()) {
    // Null alone would be a type that some generators do not have.
    alternatives.push_back(OfType("null"));
    schema["anyOf"] = std::move(alternatives);
  }
  schema["description"] = "Not supported" + listed + "." + (refused.hint.empty() ? "" : " ") +
                          std::string(refused.hint);
  return schema;
}

}  // namespace

OrderedJson DocumentSchema() {
  OrderedJson object = OfType("object");
  object["properties"]["text"] = OfType("string");
  object["required"] = OrderedJson::array({"text"});
  return AnyOf(OrderedJson::array({OfType("string"), std::move(object)}));
}

OrderedJson SchemaOf(const BodyForm& form) {
  OrderedJson schema = OfType("object");
  schema["description"] = form.description();
  schema["properties"] = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const FormField& field : form.fields()) {
    schema["properties"][field.name] = SchemaOf(field);
    if (field.is_required) {
      required.push_back(field.name);
    }
  }
  for (const RefusedField& refused : form.refused()) {
    if (refused.name.starts_with('*')) {
      schema["patternProperties"][refused.name.substr(1) + "$"] = SchemaOf(refused);
    } else {
      schema["properties"][refused.name] = SchemaOf(refused);
    }
  }
  if (!required.empty()) {
    schema["required"] = std::move(required);
  }
  if (form.refuses_unknown()) {
    schema["additionalProperties"] = false;
  }
  return schema;
}

}  // namespace scorecast::coordinator
