#include "coordinator/json/body_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <google/protobuf/message.h>

#include "coordinator/json/body_members.h"
#include "coordinator/json/body_value.h"
#include "coordinator/request/request_error.h"
#include "proto/base/check.h"
#include "proto/base/nearest_name.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using proto::Error;
using Kind = JsonShape::Kind;
/// No error, or the first one.
using Fault = std::optional<Error>;

/// How many names of a body, which are not known, may be the misspelt one of a missing field.
constexpr std::size_t kMaxMisspelt = 32;

/// `prefix` and `name` are those of the field, `given` are names that are not known.
Error Missing(const std::string& prefix, const std::string& name,
              std::span<const std::string_view> given) {
  const std::string field = prefix + name;
  const std::string_view nearest = proto::NearestName(name, given);
  return BadRequest(
      "missing_field",
      field + " must be provided" +
          (nearest.empty() ? "." : "; the request has " + proto::Quoted(nearest) + "."),
      field);
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

/// Sets what absent fields mean, if it is not protobuf's own default.
void SetDefaults(const BodyForm& form, Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (const FormField& field : form.fields()) {
    if (field.default_value != nullptr && !reflection.HasField(message, field.field)) {
      message.MergeFrom(*field.default_value);
    }
  }
}

/// Reads one body, or an object in it, whose name and a dot `prefix` is.
class Reader {
 public:
  Reader(BodyJson& body, const BodyForm& form, Message& message, std::string prefix = {})
      : form_(form), message_(message), prefix_(std::move(prefix)), values_(form.fields().size()) {
    for (auto& [key, value] : body.get_ref<BodyJson::object_t&>()) {
      if (const std::optional<std::size_t> index = form.IndexOf(key)) {
        values_[*index] = value.is_null() ? nullptr : &value;
      } else if (form.FindRefused(key) != nullptr) {
        refused_[key] = &value;
      } else {
        if (unknown_.size() < kMaxMisspelt) {
          unknown_.push_back(key);
        }
        if (form.others() != nullptr) {
          others_.emplace_back(&key, &value);
        }
      }
    }
  }

  Fault Read() {
    for (const auto& [name, value] : refused_) {
      const RefusedField& refused = *form_.FindRefused(name);
      if (!IsNeutral(refused, *value)) {
        return NotSupported(refused, prefix_ + std::string(name));
      }
    }
    if (form_.refuses_unknown() && !unknown_.empty()) {
      const std::string name = prefix_ + proto::OneLine(unknown_.front());
      return BadRequest("unknown_field", name + " is not a field that is known.", name);
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (form_.fields()[i].is_required && values_[i] == nullptr) {
        return Missing(prefix_, form_.fields()[i].name, unknown_);
      }
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (Fault fault = Read(i)) {
        return fault;
      }
    }
    SetDefaults(form_, message_);
    return ReadOthers();
  }

  BodyNotes Notes() && { return std::move(notes_); }

 private:
  Fault ReadOthers() {
    if (others_.empty()) {
      return std::nullopt;
    }
    BodyJson::object_t members;
    for (const auto& [key, value] : others_) {
      members.emplace_back(*key, std::move(*value));
    }
    BodyJson object(std::move(members));
    const FormField& field = *form_.others();
    return ReadField(object, field.shape, field.name, message_, *field.field);
  }

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
      return Missing(/*prefix=*/"", form_.NameOf(*field.field), unknown_);
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
    NoteGiven(field);
    if (field.shape.is_list && value.is_array() && value.empty()) {
      notes_.empty_lists.push_back(field.field);
    }
    if (field.saturates_at && Int64(value) > field.saturates_at &&
        static_cast<double>(*Int64(value)) <= field.maximum.value_or(0)) {
      value = *field.saturates_at;
    }
    return ReadField(value, field.shape, prefix_ + field.name, message_, *field.field);
  }

  /// A boolean is true if one of its names says so.
  Fault ReadBool(const FormField& field, BodyJson& value) {
    const std::optional<bool> truth = BoolOf(value, field.shape);
    NoteGiven(field);
    const google::protobuf::Reflection& reflection = *message_.GetReflection();
    if (!truth && field.strings != nullptr && value.is_string()) {
      reflection.SetBool(&message_, field.field, true);
      return Read(*field.strings, value);
    }
    if (!truth) {
      return WrongType(prefix_ + field.name, field.shape.Description());
    }
    const bool is_true = *truth != field.is_inverse;
    reflection.SetBool(&message_, field.field,
                       is_true || reflection.GetBool(message_, field.field));
    return std::nullopt;
  }

  /// The fault of a string or an integer that another name has given, too.
  Fault CheckSame(const FormField& field, const BodyJson& value, const FormField& before) const {
    const bool is_string = field.shape.kind == Kind::kString;
    proto::Check((is_string || field.shape.kind == Kind::kInteger) && !field.shape.is_list,
                 "only strings, integers and booleans may be given by several names");
    if (is_string ? !value.is_string() : !Int64(value)) {
      return WrongType(prefix_ + field.name, field.shape.Description());
    }
    const google::protobuf::Reflection& reflection = *message_.GetReflection();
    if (is_string
            ? *value.get_ptr<const std::string*>() == reflection.GetString(message_, field.field)
            : Int64(value) == reflection.GetInt64(message_, field.field)) {
      return std::nullopt;
    }
    return BadRequest("given_twice",
                      before.name + " and " + field.name + " mean the same, but differ.",
                      field.name);
  }

  void NoteGiven(const FormField& field) {
    if (field.is_other_name && FirstName(*field.field) == nullptr) {
      notes_.other_names.push_back(&field);
    }
    given_.push_back(&field);
  }

  /// The name by which a field was given first, if it was.
  const FormField* FirstName(const FieldDescriptor& field) const {
    const auto found = std::ranges::find(given_, &field, &FormField::field);
    return found == given_.end() ? nullptr : *found;
  }

  const BodyForm& form_;
  Message& message_;
  const std::string prefix_;
  std::vector<std::string_view> unknown_;  ///< The first fields that are not known.
  std::vector<BodyJson*> values_;          ///< Of the form's fields; null if a field is absent.
  std::map<std::string_view, const BodyJson*> refused_;
  std::vector<std::pair<const std::string*, BodyJson*>> others_;  ///< Those that the form keeps.
  std::vector<const FormField*> given_;                           ///< By the first of their names.
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

Fault ReadObject(BodyJson& object, const BodyForm& form, const std::string& name,
                 Message& message) {
  return Reader(object, form, message, name + ".").Read();
}

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
