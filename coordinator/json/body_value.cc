#include "coordinator/json/body_value.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>

#include "coordinator/json/body_members.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/request/request_error.h"
#include "proto/base/check.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

using proto::Error;

namespace {

/// Absent if the value is no whole number that an `Integer` holds.
template <typename Integer>
std::optional<Integer> WholeNumber(const BodyJson& value) {
  using Limits = std::numeric_limits<Integer>;
  if (value.is_number_float()) {
    // Zeros or powers of two, so float64 has them.
    static constexpr auto kLeast = static_cast<double>(Limits::min());
    static const double kEnd = std::ldexp(1.0, Limits::digits);
    const auto number = value.get<double>();
    const bool fits = number >= kLeast && number < kEnd && number == std::floor(number);
    return fits ? std::optional(static_cast<Integer>(number)) : std::nullopt;
  }
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return std::in_range<Integer>(number) ? std::optional(static_cast<Integer>(number))
                                          : std::nullopt;
  }
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    return std::in_range<Integer>(number) ? std::optional(static_cast<Integer>(number))
                                          : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> Int64(const BodyJson& value) {
  return WholeNumber<std::int64_t>(value);
}

std::optional<bool> BoolOf(const BodyJson& value, const JsonShape& shape) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  for (const bool truth : {false, true}) {
    if (shape.takes_strings &&
        (value == (truth ? "true" : "false") || value == (truth ? "True" : "False"))) {
      return truth;
    }
  }
  return std::nullopt;
}

Error WrongType(const std::string& field, std::string_view wanted) {
  return BadRequest("wrong_type", field + " must be " + std::string(wanted) + ".", field);
}

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Kind = JsonShape::Kind;
/// No error, or the first one.
using Fault = std::optional<Error>;

std::optional<std::int32_t> IdOf(const BodyJson& value) {
  const std::optional<std::int64_t> id = Int64(value);
  const bool fits = id && *id >= std::numeric_limits<std::int32_t>::min() &&
                    *id <= std::numeric_limits<std::int32_t>::max();
  return fits ? std::optional(static_cast<std::int32_t>(*id)) : std::nullopt;
}

Error WrongKind(const std::string& field, Kind kind) {
  return WrongType(field, JsonShape{.kind = kind}.Description());
}

/// Whether a value is an integer, though perhaps one of more than 64 bits with a sign. An integer
/// of more than 64 bits counts only if it is written without a fraction and an exponent.
bool IsInteger(const BodyJson& value) { return value.is_number_integer() || Int64(value); }

/// The error of a value that is not an id, or an integer that does not fit an id. Other ids that
/// are outside the vocabulary are refused when the request is checked.
Error NotAnId(const BodyJson& value, const std::string& field) {
  if (!IsInteger(value)) {
    return WrongType(field, "a token id, which is an integer");
  }
  return BadRequest("id_out_of_range",
                    "Token ID " + value.dump() + " is out of any vocabulary's range.", field);
}

/// A field of a message that is being set.
class Target {
 public:
  Target(Message& message, const FieldDescriptor& field)
      : message_(message), reflection_(*message.GetReflection()), field_(field) {}

  void Set(std::string text) { reflection_.SetString(&message_, &field_, std::move(text)); }
  void Set(std::int32_t id) { reflection_.SetInt32(&message_, &field_, id); }
  void Set(std::int64_t integer) { reflection_.SetInt64(&message_, &field_, integer); }
  void Set(std::uint64_t integer) { reflection_.SetUInt64(&message_, &field_, integer); }
  void Set(double number) { reflection_.SetDouble(&message_, &field_, number); }
  void Set(bool truth) { reflection_.SetBool(&message_, &field_, truth); }
  Message& Mutable() { return *reflection_.MutableMessage(&message_, &field_); }
  Message& AddMessage() { return *reflection_.AddMessage(&message_, &field_); }
  void Add(std::string text) { reflection_.AddString(&message_, &field_, std::move(text)); }
  /// A list of numbers, to which values are added without reflection for each.
  template <typename Value>
  google::protobuf::MutableRepeatedFieldRef<Value> Numbers() {
    return reflection_.GetMutableRepeatedFieldRef<Value>(&message_, &field_);
  }

 private:
  Message& message_;
  const google::protobuf::Reflection& reflection_;
  const FieldDescriptor& field_;
};

Fault ReadValue(BodyJson& value, const JsonShape& shape, const std::string& name, Target target);
Fault ReadList(BodyJson& value, const JsonShape& shape, const std::string& name, Target target);

std::string Taken(BodyJson& value) { return std::move(*value.get_ptr<std::string*>()); }

Fault ReadIds(const BodyJson& list, const std::string& name, Target target) {
  auto ids = target.Numbers<std::int32_t>();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::optional<std::int32_t> id = IdOf(list[i]);
    if (!id) {
      return NotAnId(list[i], At(name, i));
    }
    ids.Add(*id);
  }
  return std::nullopt;
}

/// Reads a list of token ids into `message`, whose only field is one.
Fault ReadIdsMessage(const BodyJson& list, const std::string& name, Message& message) {
  return ReadIds(list, name, Target(message, *message.GetDescriptor()->field(0)));
}

Fault ReadLabels(const BodyJson& value, const JsonShape& shape, const std::string& name,
                 Message& message) {
  if (value.empty() || !value.front().is_array()) {
    return ReadIdsMessage(value, name, Target(message, *shape.fields[0]).Mutable());
  }
  Message& lists = Target(message, *shape.fields[1]).Mutable();
  Target target(lists, *lists.GetDescriptor()->field(0));
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_array()) {
      return WrongType(At(name, i), "a list of token ids, like those before it");
    }
    if (Fault fault = ReadIdsMessage(value[i], At(name, i), target.AddMessage())) {
      return fault;
    }
  }
  return std::nullopt;
}

/// Whether a value of several types is meant to be one of this shape. What it really is, is checked
/// when it is read.
bool IsLike(const JsonShape& shape, const BodyJson& value) {
  if (shape.is_list) {
    return value.is_array();
  }
  switch (shape.kind) {
    case Kind::kString:
      return value.is_string();
    case Kind::kTokenId:
    case Kind::kInteger:
    case Kind::kUnsigned:
      return IsInteger(value);
    case Kind::kNumber:
      return NumberOf(value).has_value();
    case Kind::kBool:
      return value.is_boolean();
    case Kind::kIds:
    case Kind::kLabels:
      return value.is_array();
    case Kind::kPairs:
    case Kind::kObject:
      return value.is_object();
    case Kind::kAny:
    case Kind::kUnion:
      return true;
  }
  return false;
}

Fault ReadUnion(BodyJson& value, const JsonShape& shape, const std::string& name,
                Message& message) {
  for (std::size_t i = 0; i < shape.fields.size(); ++i) {
    if (IsLike(shape.shapes[i], value)) {
      return ReadValue(value, shape.shapes[i], name, Target(message, *shape.fields[i]));
    }
  }
  return WrongType(name, shape.Description());
}

Fault ReadPairs(BodyJson& object, const JsonShape& shape, const std::string& name, Target target) {
  for (auto& [key, value] : object.get_ref<BodyJson::object_t&>()) {
    Message& pair = target.AddMessage();
    if (Fault fault = ReadValue(value, shape.shapes[1], name + "." + proto::OneLine(key),
                                Target(pair, *shape.fields[1]))) {
      return fault;
    }
    Target(pair, *shape.fields[0]).Set(std::move(key));
  }
  return std::nullopt;
}

/// A value, or the text of an object if the shape takes such.
BodyJson& Unwrapped(BodyJson& value, const JsonShape& shape) {
  const bool is_object = shape.takes_objects && HasMember(value, "text");
  return is_object ? *FindMember(value, "text") : value;
}

/// Reads a value that is not a list of the message.
Fault ReadValue(BodyJson& value, const JsonShape& shape, const std::string& name, Target target) {
  if (shape.only != nullptr) {
    JsonShape own = shape;
    own.only = nullptr;
    const Target only(target.Mutable(), *shape.only);
    return own.is_list ? ReadList(value, own, name, only) : ReadValue(value, own, name, only);
  }
  switch (shape.kind) {
    case Kind::kString:
      if (BodyJson& text = Unwrapped(value, shape); text.is_string()) {
        target.Set(Taken(text));
        return std::nullopt;
      }
      break;
    case Kind::kTokenId:
      if (const std::optional<std::int32_t> id = IdOf(value)) {
        target.Set(*id);
        return std::nullopt;
      }
      return NotAnId(value, name);
    case Kind::kInteger:
      if (const std::optional<std::int64_t> integer = Int64(value)) {
        target.Set(*integer);
        return std::nullopt;
      }
      break;
    case Kind::kUnsigned:
      if (const std::optional<std::uint64_t> whole = WholeNumber<std::uint64_t>(value)) {
        target.Set(*whole);
        return std::nullopt;
      }
      break;
    case Kind::kNumber:
      if (const std::optional<double> number = NumberOf(value)) {
        target.Set(*number);
        return std::nullopt;
      }
      break;
    case Kind::kBool:
      if (const std::optional<bool> truth = BoolOf(value, shape)) {
        target.Set(*truth);
        return std::nullopt;
      }
      break;
    case Kind::kAny:
      target.Set(CompactJson(value));
      return std::nullopt;
    case Kind::kPairs:
      if (value.is_object()) {
        return ReadPairs(value, shape, name, target);
      }
      break;
    case Kind::kIds:
      if (value.is_array()) {
        return ReadIdsMessage(value, name, target.Mutable());
      }
      break;
    case Kind::kLabels:
      if (value.is_array()) {
        return ReadLabels(value, shape, name, target.Mutable());
      }
      break;
    case Kind::kUnion:
      return ReadUnion(value, shape, name, target.Mutable());
    case Kind::kObject:
      if (value.is_object()) {
        return ReadObject(value, *shape.form, name, target.Mutable());
      }
      break;
  }
  return WrongType(name, shape.Description());
}

Fault ReadStrings(BodyJson& list, const JsonShape& shape, const std::string& name, Target target) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    BodyJson* const text = &Unwrapped(list[i], shape);
    const bool is_object = text != &list[i];
    if (!text->is_string()) {
      const char* wanted =
          shape.takes_objects && !is_object ? "a string or an object with a text" : "a string";
      return WrongType(At(name, i) + (is_object ? ".text" : ""), wanted);
    }
    target.Add(Taken(*text));
  }
  return std::nullopt;
}

Fault ReadList(BodyJson& value, const JsonShape& shape, const std::string& name, Target target) {
  JsonShape one = shape;
  one.is_list = false;
  if (shape.takes_one && value.is_string()) {
    if (shape.kind == Kind::kUnion) {
      return ReadUnion(value, one, name, target.AddMessage());
    }
    target.Add(Taken(value));
    return std::nullopt;
  }
  if (!value.is_array()) {
    return WrongType(name, shape.Description());
  }
  if (shape.takes_one_ids && !value.empty() && NumberOf(value.front())) {
    return ReadUnion(value, one, name, target.AddMessage());
  }
  switch (shape.kind) {
    case Kind::kString:
      return ReadStrings(value, shape, name, target);
    case Kind::kTokenId:
      return ReadIds(value, name, target);
    case Kind::kAny:
      for (const BodyJson& any : value) {
        target.Add(CompactJson(any));
      }
      return std::nullopt;
    case Kind::kInteger: {
      auto integers = target.Numbers<std::int64_t>();
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::optional<std::int64_t> integer = Int64(value[i]);
        if (!integer) {
          return WrongKind(At(name, i), Kind::kInteger);
        }
        integers.Add(*integer);
      }
      return std::nullopt;
    }
    case Kind::kNumber: {
      auto numbers = target.Numbers<double>();
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::optional<double> number = NumberOf(value[i]);
        if (!number) {
          return WrongKind(At(name, i), Kind::kNumber);
        }
        numbers.Add(*number);
      }
      return std::nullopt;
    }
    case Kind::kUnion:
      for (std::size_t i = 0; i < value.size(); ++i) {
        BodyJson& element = Unwrapped(value[i], shape);
        if (Fault fault = ReadUnion(element, one, At(name, i), target.AddMessage())) {
          return fault;
        }
      }
      return std::nullopt;
    case Kind::kObject:
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (!value[i].is_object()) {
          return WrongKind(At(name, i), Kind::kObject);
        }
        if (Fault fault = ReadObject(value[i], *shape.form, At(name, i), target.AddMessage())) {
          return fault;
        }
      }
      return std::nullopt;
    default:
      proto::Check(false, "a request has no lists of this shape");
      return std::nullopt;
  }
}

}  // namespace

Fault ReadField(BodyJson& value, const JsonShape& shape, const std::string& name, Message& message,
                const FieldDescriptor& field) {
  const Target target(message, field);
  return shape.is_list ? ReadList(value, shape, name, target)
                       : ReadValue(value, shape, name, target);
}

}  // namespace scorecast::coordinator
