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

/// A string, or an object with one.
OrderedJson Document() {
  OrderedJson object = OfType("object");
  object["properties"]["text"] = OfType("string");
  object["required"] = OrderedJson::array({"text"});
  OrderedJson document;
  document["anyOf"] = OrderedJson::array({OfType("string"), std::move(object)});
  return document;
}

OrderedJson Bool(const JsonShape& shape) {
  OrderedJson alternatives = OrderedJson::array({OfType("boolean")});
  if (shape.takes_strings) {
    OrderedJson text = OfType("string");
    text["enum"] = OrderedJson::array({"true", "True", "false", "False"});
    alternatives.push_back(std::move(text));
  }
  if (shape.takes_end_or_none) {
    OrderedJson text = OfType("string");
    text["enum"] = OrderedJson::array({"END", "NONE"});
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

OrderedJson SchemaOf(const RefusedField& refused) {
  OrderedJson values = OrderedJson::parse(refused.neutral_json);
  values.push_back(nullptr);
  OrderedJson schema;
  schema["enum"] = std::move(values);
  schema["description"] = "Not supported. " + std::string(refused.hint);
  return schema;
}

}  // namespace

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
