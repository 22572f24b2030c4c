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

OrderedJson NumberOf(std::string_view type, const Field& field) {
  OrderedJson number = OfType(type);
  if (field.minimum) {
    number["minimum"] = BoundJson(*field.minimum);
  }
  if (field.maximum) {
    number["maximum"] = BoundJson(*field.maximum);
  }
  return number;
}

OrderedJson IntegerOf(const Field& field) {
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

OrderedJson Documents() {
  OrderedJson document = OfType("object");
  document["properties"]["text"] = OfType("string");
  document["required"] = OrderedJson::array({"text"});
  OrderedJson items;
  items["anyOf"] = OrderedJson::array({OfType("string"), std::move(document)});
  return ListOf(std::move(items));
}

/// The alternatives that a value may be.
OrderedJson AlternativesOf(const Field& field) {
  switch (field.type) {
    case FieldType::kString:
      return OrderedJson::array({OfType("string")});
    case FieldType::kStrings:
      return OrderedJson::array({ListOf(OfType("string"))});
    case FieldType::kStringOrStrings:
      return OrderedJson::array({OfType("string"), ListOf(OfType("string"))});
    case FieldType::kTextOrId:
      return OrderedJson::array({OfType("string"), OneTokenId()});
    case FieldType::kTextOrIds:
      return OrderedJson::array({OfType("string"), TokenIds()});
    case FieldType::kTextOrIdsList:
      return OrderedJson::array({ListOf(OfType("string")), ListOf(TokenIds())});
    case FieldType::kOneOrMoreTextOrIds:
      return OrderedJson::array({OfType("string"), ListOf(OfType("string")), ListOf(TokenIds())});
    case FieldType::kDocuments:
      return OrderedJson::array({Documents()});
    case FieldType::kTokenIds:
      return OrderedJson::array({TokenIds()});
    case FieldType::kLabels:
      return OrderedJson::array({TokenIds(), ListOf(TokenIds())});
    case FieldType::kInteger:
      return OrderedJson::array({IntegerOf(field)});
    case FieldType::kIntegers:
      return OrderedJson::array({ListOf(IntegerOf(field))});
    case FieldType::kUnsigned: {
      OrderedJson integer = OfType("integer");
      integer["minimum"] = 0;
      integer["maximum"] = std::numeric_limits<std::uint64_t>::max();
      return OrderedJson::array({std::move(integer)});
    }
    case FieldType::kNumber:
      return OrderedJson::array({NumberOf("number", field)});
    case FieldType::kBool:
      return OrderedJson::array({OfType("boolean")});
    case FieldType::kBoolOrString: {
      OrderedJson text = OfType("string");
      text["enum"] = OrderedJson::array({"true", "True", "false", "False"});
      return OrderedJson::array({OfType("boolean"), std::move(text)});
    }
  }
  return OrderedJson::array();
}

OrderedJson SchemaOf(const Field& field) {
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

OrderedJson SchemaOf(const FieldTable& table) {
  OrderedJson schema = OfType("object");
  schema["description"] = table.description;
  schema["properties"] = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const Field& field : table.fields) {
    schema["properties"][std::string(field.name)] = SchemaOf(field);
    if (field.is_required) {
      required.push_back(field.name);
    }
  }
  for (const RefusedField& refused : table.refused) {
    const std::string name(refused.name);
    if (name.starts_with('*')) {
      schema["patternProperties"][name.substr(1) + "$"] = SchemaOf(refused);
    } else {
      schema["properties"][name] = SchemaOf(refused);
    }
  }
  if (!required.empty()) {
    schema["required"] = std::move(required);
  }
  return schema;
}

}  // namespace scorecast::coordinator
