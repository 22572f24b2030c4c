#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/json/json_shape.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace scorecast::coordinator {

/// A name that a body may have.
struct FormField {
  std::string name;
  const google::protobuf::FieldDescriptor* field = nullptr;  ///< What it sets.
  JsonShape shape;
  std::string description;  ///< One line of Markdown for users.
  bool is_required = false;
  /// What an absent field means, as JSON. Empty if no value means the same as absence.
  std::string default_json;
  /// A message with the default alone. Null if absence need not be told from the default.
  std::shared_ptr<const google::protobuf::Message> default_value;
  std::optional<double> minimum;  ///< Of a number, or of each number of a list.
  std::optional<double> maximum;
  std::optional<std::int64_t> saturates_at;
  bool is_inverse = false;  ///< The field is true if this is false.
  bool is_other_name = false;
  bool excludes_other_names = false;  ///< Exactly one of the field's names must be given.
  /// If the field is a boolean that a string may also be given for: the field that the string sets,
  /// while the boolean becomes true. Null if a string that is no boolean is wrong.
  std::shared_ptr<const FormField> strings;
};

/// A parameter of other engines that would change the result if it were supported.
struct RefusedField {
  /// A name, or "*" and the end of several names.
  std::string name;
  /// The values that would not change the result, as a JSON list. Null always is one of them.
  std::string neutral_json = "[]";
  /// What to do instead, as a sentence. May be empty.
  std::string hint;
};

/// One form of a request's body, or of an object in it: how it becomes a message. A field that is
/// in neither list is ignored, unless the form refuses unknown fields or keeps them. Made of the
/// options of proto/json_description.proto, whose faults are broken invariants.
class BodyForm {
 public:
  /// The message's own form.
  explicit BodyForm(const google::protobuf::Descriptor& message);
  BodyForm(const BodyForm&) = delete;
  BodyForm& operator=(const BodyForm&) = delete;
  /// The dialect of this name.
  BodyForm(const google::protobuf::Descriptor& message, std::string_view dialect);

  const std::string& name() const { return name_; }  ///< In /openapi.json, such as "ScoreRequest".
  const std::string& description() const { return description_; }
  const std::string& example() const { return example_; }  ///< JSON; empty if there is none.
  const google::protobuf::Descriptor& message() const { return message_; }
  bool is_dialect() const { return is_dialect_; }
  /// What describes the JSON of the responses to such a body. Null if the endpoint decides.
  const google::protobuf::Descriptor* response() const { return response_; }
  /// Whether a field that is in neither list is refused, not ignored.
  bool refuses_unknown() const { return refuses_unknown_; }
  /// In the order in which they are read.
  const std::vector<FormField>& fields() const { return fields_; }
  /// What members set that are in neither list; null if they are ignored or refused.
  const FormField* others() const { return others_ ? &*others_ : nullptr; }
  const std::vector<RefusedField>& refused() const { return refused_; }
  /// Whether a body has this form, of several. `has` says whether the body has a field.
  template <typename Has>
  bool IsThatOf(const Has& has) const {
    bool is_marked = false;
    for (const std::string& marker : markers_) {
      is_marked = is_marked || has(marker);
    }
    return is_marked && (unless_.empty() || !has(unless_));
  }

  /// The index of the field of this name, if there is one.
  std::optional<std::size_t> IndexOf(std::string_view name) const;
  /// Null if parameters of this name are not refused.
  const RefusedField* FindRefused(std::string_view name) const;
  /// The usual name of the message's field.
  const std::string& NameOf(const google::protobuf::FieldDescriptor& field) const;

 private:
  void IndexNames();

  const google::protobuf::Descriptor& message_;
  std::string name_;
  std::string description_;
  std::string example_;
  bool is_dialect_ = false;
  const google::protobuf::Descriptor* response_ = nullptr;
  bool refuses_unknown_ = false;
  std::vector<FormField> fields_;
  std::optional<FormField> others_;
  std::vector<RefusedField> refused_;
  std::vector<std::string> markers_;
  std::string unless_;
  std::unordered_map<std::string_view, std::size_t> index_;  ///< Of `fields_`, by name.
};

}  // namespace scorecast::coordinator
