#include "coordinator/json/body_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>

#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "proto/base/check.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using proto::Error;
using Kind = JsonShape::Kind;
/// No error, or the first one.
using Fault = std::optional<Error>;

std::optional<std::int64_t> Int64(const BodyJson& value) {
  if (!value.is_number_integer()) {
    return std::nullopt;
  }
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return value.get<std::int64_t>();
}

std::optional<std::int32_t> IdOf(const BodyJson& value) {
  const std::optional<std::int64_t> id = Int64(value);
  const bool fits = id && *id >= std::numeric_limits<std::int32_t>::min() &&
                    *id <= std::numeric_limits<std::int32_t>::max();
  return fits ? std::optional(static_cast<std::int32_t>(*id)) : std::nullopt;
}

std::optional<bool> BoolOf(const BodyJson& value, bool takes_strings) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (takes_strings) {
    for (const bool truth : {false, true}) {
      if (value == (truth ? "true" : "false") || value == (truth ? "True" : "False")) {
        return truth;
      }
    }
  }
  return std::nullopt;
}

Error WrongType(const std::string& field, std::string_view wanted) {
  return BadRequest("wrong_type", field + " must be " + std::string(wanted) + ".", field);
}

Error WrongType(const std::string& field, Kind kind) {
  return WrongType(field, JsonShape{.kind = kind}.Description());
}

/// The error of a value that is not an id, or a whole number that does not fit an id. Other ids
/// that are outside the vocabulary are refused when the request is checked.
Error NotAnId(const BodyJson& value, const std::string& field) {
  if (!value.is_number_integer()) {
    return WrongType(field, "a token id, which is an integer");
  }
  return BadRequest("id_out_of_range",
                    "Token ID " + value.dump() + " is out of any vocabulary's range.", field);
}

Error Missing(const std::string& field) {
  return BadRequest("missing_field", field + " must be provided.", field);
}

/// Whether a value of a body is the same JSON as another value. Copies nothing of a long list or
/// object.
bool IsSame(const BodyJson& value, const nlohmann::json& other) {
  if (value.is_array()) {
    return other.is_array() && std::ranges::equal(value, other, IsSame);
  }
  if (!value.is_object()) {
    return nlohmann::json(value) == other;
  }
  const auto has_same = [&](const auto& member) {
    const BodyJson* own = FindMember(value, member.key());
    return own != nullptr && IsSame(*own, member.value());
  };
  const auto is_known = [&](const auto& member) { return other.contains(member.first); };
  const auto members = other.items();
  return other.is_object() && std::all_of(members.begin(), members.end(), has_same) &&
         std::ranges::all_of(*value.get_ptr<const BodyJson::object_t*>(), is_known);
}

bool IsNeutral(const RefusedField& refused, const BodyJson& value) {
  const auto neutral = nlohmann::json::parse(refused.neutral_json);
  return value.is_null() || std::ranges::any_of(neutral, [&](const nlohmann::json& one) {
           return IsSame(value, one);
         });
}

/// The name is the client's if `refused` has only its end.
Error NotSupported(const RefusedField& refused, std::string_view field) {
  const std::string name = proto::OneLine(field);
  std::string message = name + " is not supported by this server.";
  if (!refused.hint.empty()) {
    message += " " + refused.hint;
  }
  return BadRequest("not_supported", std::move(message), name);
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
  switch (shape.kind) {
    case Kind::kString:
      return value.is_string();
    case Kind::kTokenId:
    case Kind::kInteger:
    case Kind::kUnsigned:
      return value.is_number_integer();
    case Kind::kNumber:
      return value.is_number();
    case Kind::kBool:
      return value.is_boolean();
    case Kind::kIds:
    case Kind::kLabels:
      return value.is_array();
    case Kind::kPairs:
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

/// Reads a value that is not a list of the message.
Fault ReadValue(BodyJson& value, const JsonShape& shape, const std::string& name, Target target) {
  switch (shape.kind) {
    case Kind::kString:
      if (value.is_string()) {
        target.Set(Taken(value));
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
      if (value.is_number_unsigned()) {
        target.Set(value.get<std::uint64_t>());
        return std::nullopt;
      }
      break;
    case Kind::kNumber:
      if (value.is_number()) {
        target.Set(value.get<double>());
        return std::nullopt;
      }
      break;
    case Kind::kBool:
      if (const std::optional<bool> truth = BoolOf(value, shape.takes_strings)) {
        target.Set(*truth);
        return std::nullopt;
      }
      break;
    case Kind::kAny:
      target.Set(value.dump());
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
  }
  return WrongType(name, shape.Description());
}

Fault ReadStrings(BodyJson& list, const JsonShape& shape, const std::string& name, Target target) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    BodyJson* text = &list[i];
    const bool is_object = shape.takes_objects && HasMember(*text, "text");
    if (is_object) {
      text = FindMember(*text, "text");
    }
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
  switch (shape.kind) {
    case Kind::kString:
      return ReadStrings(value, shape, name, target);
    case Kind::kTokenId:
      return ReadIds(value, name, target);
    case Kind::kAny:
      for (const BodyJson& any : value) {
        target.Add(any.dump());
      }
      return std::nullopt;
    case Kind::kInteger: {
      auto integers = target.Numbers<std::int64_t>();
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::optional<std::int64_t> integer = Int64(value[i]);
        if (!integer) {
          return WrongType(At(name, i), Kind::kInteger);
        }
        integers.Add(*integer);
      }
      return std::nullopt;
    }
    case Kind::kNumber: {
      auto numbers = target.Numbers<double>();
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (!value[i].is_number()) {
          return WrongType(At(name, i), Kind::kNumber);
        }
        numbers.Add(value[i].get<double>());
      }
      return std::nullopt;
    }
    case Kind::kUnion:
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (Fault fault = ReadUnion(value[i], one, At(name, i), target.AddMessage())) {
          return fault;
        }
      }
      return std::nullopt;
    default:
      proto::Check(false, "a request has no lists of this shape");
      return std::nullopt;
  }
}

/// Sets what absent fields mean, if it is not protobuf's own default.
void SetDefaults(const BodyForm& form, Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (const FormField& field : form.fields()) {
    if (field.is_other_name || field.default_json.empty() || !field.field->has_presence() ||
        reflection.HasField(message, field.field)) {
      continue;
    }
    auto value = BodyJson::parse(field.default_json);
    if (value != false && value != 0 && value != "") {
      const Fault fault = ReadValue(value, field.shape, field.name, Target(message, *field.field));
      proto::Check(!fault, "a default has the type of its field");
    }
  }
}

/// Reads one body.
class Reader {
 public:
  Reader(BodyJson& body, const BodyForm& form, Message& message)
      : form_(form), message_(message), values_(form.fields().size()) {
    for (auto& [key, value] : body.get_ref<BodyJson::object_t&>()) {
      if (const std::optional<std::size_t> index = form.IndexOf(key)) {
        values_[*index] = value.is_null() ? nullptr : &value;
      } else if (form.FindRefused(key) != nullptr) {
        refused_[key] = &value;
      }
    }
  }

  Fault Read() {
    for (const auto& [name, value] : refused_) {
      const RefusedField& refused = *form_.FindRefused(name);
      if (!IsNeutral(refused, *value)) {
        return NotSupported(refused, name);
      }
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (form_.fields()[i].is_required && values_[i] == nullptr) {
        return Missing(form_.fields()[i].name);
      }
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (Fault fault = Read(i)) {
        return fault;
      }
    }
    SetDefaults(form_, message_);
    return std::nullopt;
  }

  BodyNotes Notes() && { return std::move(notes_); }

 private:
  /// Reads the field of index `i`.
  Fault Read(std::size_t i) {
    const FormField& field = form_.fields()[i];
    if (values_[i] != nullptr) {
      if (Fault fault = Read(field, *values_[i])) {
        return fault;
      }
    }
    // Behind the last of its names.
    const bool is_last = i + 1 == values_.size() || form_.fields()[i + 1].field != field.field;
    if (is_last && field.excludes_other_names && FirstName(*field.field) == nullptr) {
      return Missing(form_.NameOf(*field.field));
    }
    return std::nullopt;
  }

  Fault Read(const FormField& field, BodyJson& value) {
    const FormField* before = FirstName(*field.field);
    if (before != nullptr && field.excludes_other_names) {
      return BadRequest("given_twice", before->name + " and " + field.name + " exclude each other.",
                        field.name);
    }
    if (field.shape.kind == Kind::kBool) {
      return ReadBool(field, value);
    }
    if (before != nullptr) {
      return CheckSame(field, value, *before);
    }
    given_.push_back(&field);
    if (field.is_other_name) {
      notes_.other_names.push_back(&field);
    }
    if (field.shape.is_list && value.is_array() && value.empty()) {
      notes_.empty_lists.push_back(field.field);
    }
    if (field.saturates_at && Int64(value) > field.saturates_at &&
        static_cast<double>(*Int64(value)) <= field.maximum.value_or(0)) {
      value = *field.saturates_at;
    }
    Target target(message_, *field.field);
    return field.shape.is_list ? ReadList(value, field.shape, field.name, target)
                               : ReadValue(value, field.shape, field.name, target);
  }

  /// A boolean is true if one of its names says so.
  Fault ReadBool(const FormField& field, const BodyJson& value) {
    const std::optional<bool> truth = BoolOf(value, field.shape.takes_strings);
    if (!truth) {
      return WrongType(field.name, field.shape.Description());
    }
    const bool is_true = *truth != field.is_inverse;
    const auto* reflection = message_.GetReflection();
    Target(message_, *field.field).Set(is_true || reflection->GetBool(message_, field.field));
    return std::nullopt;
  }

  /// The fault of a string that another name has given, too.
  Fault CheckSame(const FormField& field, const BodyJson& value, const FormField& before) const {
    proto::Check(field.shape.kind == Kind::kString && !field.shape.is_list,
                 "only strings and booleans may be given by several names");
    if (!value.is_string()) {
      return WrongType(field.name, field.shape.Description());
    }
    if (*value.get_ptr<const std::string*>() ==
        message_.GetReflection()->GetString(message_, field.field)) {
      return std::nullopt;
    }
    return BadRequest("given_twice",
                      before.name + " and " + field.name + " mean the same, but differ.",
                      field.name);
  }

  /// The name by which a field was given first, if it was.
  const FormField* FirstName(const FieldDescriptor& field) const {
    const auto found = std::ranges::find(given_, &field, &FormField::field);
    return found == given_.end() ? nullptr : *found;
  }

  const BodyForm& form_;
  Message& message_;
  std::vector<BodyJson*> values_;  ///< Of the form's fields; null if a field is absent.
  std::map<std::string_view, const BodyJson*> refused_;
  std::vector<const FormField*> given_;  ///< By the first of their names.
  BodyNotes notes_;
};

/// Whether a value of several types has one.
bool HasValue(const Message& message) {
  return message.GetReflection()->HasOneof(message, message.GetDescriptor()->oneof_decl(0));
}

Error MissingValue(const std::string& field) {
  return BadRequest("missing_field", field + " must be text or token ids.", field);
}

}  // namespace

proto::Expected<BodyNotes> ReadBody(BodyJson body, const BodyForm& form, Message& message) {
  if (!body.is_object()) {
    return proto::Unexpected(
        BadRequest("wrong_type", "The request body must be a JSON object.", ""));
  }
  Reader reader(body, form, message);
  if (Fault fault = reader.Read()) {
    return proto::Unexpected(*std::move(fault));
  }
  return std::move(reader).Notes();
}

Fault CompleteMessage(const BodyForm& form, Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (const FormField& field : form.fields()) {
    const FieldDescriptor* own = field.field;
    if (field.shape.kind == Kind::kUnion && field.shape.is_list) {
      const int size = reflection.FieldSize(message, own);
      for (int i = 0; i < size; ++i) {
        if (!HasValue(reflection.GetRepeatedMessage(message, own, i))) {
          return MissingValue(At(field.name, static_cast<std::size_t>(i)));
        }
      }
    } else if (field.shape.kind == Kind::kUnion) {
      const bool is_there = reflection.HasField(message, own);
      if (is_there ? !HasValue(reflection.GetMessage(message, own)) : field.is_required) {
        return MissingValue(field.name);
      }
    } else if (field.shape.kind == Kind::kLabels && reflection.HasField(message, own) &&
               !HasValue(reflection.GetMessage(message, own))) {
      reflection.ClearField(&message, own);  // Labels without a value are absent.
    }
  }
  SetDefaults(form, message);
  return std::nullopt;
}

}  // namespace scorecast::coordinator
