#include "coordinator/json/body_form.h"

#include <algorithm>
#include <utility>

#include <google/protobuf/descriptor.h>

#include "proto/base/check.h"
#include "proto/request_description.pb.h"

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
  for (int i = 0; i < message.field_count(); ++i) {
    shape.fields.push_back(message.field(i));
  }
  if (IsListOfIds(message)) {
    shape.kind = Kind::kIds;
    return;
  }
  proto::Check(message.real_oneof_decl_count() == 1 &&
                   message.field_count() == message.oneof_decl(0)->field_count(),
               "a message in a request is a list of ids or one value of several types");
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

JsonShape ShapeWith(v1::FieldDescription::Form form, const FieldDescriptor& field) {
  JsonShape shape;
  shape.is_list = field.is_repeated();
  if (form == v1::FieldDescription::PAIRS) {
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
  shape.takes_one = form == v1::FieldDescription::ONE_OR_MORE;
  shape.takes_objects = form == v1::FieldDescription::DOCUMENTS;
  shape.takes_strings = form == v1::FieldDescription::BOOL_OR_STRING;
  return shape;
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
      return {"true or false", "booleans"};
    case Kind::kAny:
      return {"any JSON", "any JSON"};
    case Kind::kPairs:
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

/// Descriptions of a message's fields, of its own options and those of the messages that it is
/// like.
class Descriptions {
 public:
  explicit Descriptions(const Descriptor& message) : message_(message) {
    for (const std::string& like : message.options().GetExtension(v1::body).like()) {
      like_.push_back(&Find(like));
    }
  }

  v1::FieldDescription Of(const FieldDescriptor& field) const {
    if (field.options().HasExtension(v1::json)) {
      return Resolved(field.options().GetExtension(v1::json), field.name());
    }
    for (const Descriptor* like : like_) {
      if (const FieldDescriptor* same = like->FindFieldByName(field.name())) {
        return same->options().GetExtension(v1::json);
      }
    }
    proto::Check(false, "every field of a request is described");
    return {};
  }

  v1::FieldDescription Resolved(v1::FieldDescription description, const std::string& name) const {
    if (description.has_like()) {
      const FieldDescriptor* same = Find(description.like()).FindFieldByName(name);
      proto::Check(same != nullptr, "a field is like one that there is");
      return same->options().GetExtension(v1::json);
    }
    return description;
  }

  const Descriptor& Find(const std::string& name) const {
    const std::string scope = message_.file()->package();
    const Descriptor* found = message_.file()->pool()->FindMessageTypeByName(scope + "." + name);
    proto::Check(found != nullptr, "a request is like messages that there are");
    return *found;
  }

 private:
  const Descriptor& message_;
  std::vector<const Descriptor*> like_;
};

FormField FieldOf(const FieldDescriptor& field, const v1::FieldDescription& description) {
  FormField result;
  result.name = field.name();
  result.field = &field;
  result.shape = ShapeWith(description.form(), field);
  result.description = description.text();
  result.is_required = description.required();
  result.default_json = description.default_json();
  if (description.has_minimum()) {
    result.minimum = description.minimum();
  }
  if (description.has_maximum()) {
    result.maximum = description.maximum();
  }
  if (description.has_saturates_at()) {
    result.saturates_at = description.saturates_at();
  }
  result.excludes_other_names = description.one_name();
  return result;
}

/// Adds a field by all its names.
void AddFields(const FormField& field, const v1::FieldDescription& description,
               std::vector<FormField>& fields) {
  std::vector<FormField> others;
  for (const v1::FieldDescription::Name& name : description.names()) {
    FormField other = field;
    other.name = name.name();
    other.is_other_name = true;
    other.is_inverse = name.inverse();
    if (name.has_text()) {
      other.description = name.text();
    }
    other.default_json = name.default_json();
    (name.inverse() ? fields : others).push_back(std::move(other));
  }
  fields.push_back(field);
  fields.insert(fields.end(), others.begin(), others.end());
}

void AddRefused(const v1::BodyDescription& body, std::vector<RefusedField>& refused) {
  for (const v1::RefusedParameter& one : body.refused()) {
    refused.push_back({one.name(), one.neutral().empty() ? "[]" : one.neutral(), one.hint()});
  }
}

const v1::Dialect* FindDialect(const Descriptor& message, std::string_view name) {
  const google::protobuf::MessageOptions& options = message.options();
  for (int i = 0; i < options.ExtensionSize(v1::dialects); ++i) {
    const v1::Dialect& dialect = options.GetExtension(v1::dialects, i);
    if (dialect.name() == name) {
      return &dialect;
    }
  }
  return nullptr;
}

}  // namespace

std::string JsonShape::Description() const {
  const auto [one, several] = NamesOf(*this);
  if (!is_list) {
    return one;
  }
  const std::string list =
      "a list of " + several + (takes_objects ? " or of objects with a text" : "");
  if (!takes_one) {
    return list;
  }
  return std::string("a string") + (kind == Kind::kUnion ? ", or " : " or ") + list;
}

std::string JsonShape::Plural() const { return NamesOf(*this).second; }

JsonShape ShapeOf(const FieldDescriptor& field) {
  return ShapeWith(field.options().GetExtension(v1::json).form(), field);
}

BodyForm::BodyForm(const Descriptor& message) : BodyForm(message, message.name()) {}

BodyForm::BodyForm(const Descriptor& message, std::string_view dialect)
    : message_(message), name_(dialect), is_dialect_(name_ != message.name()) {
  const Descriptions descriptions(message);
  const v1::Dialect* differences = is_dialect_ ? FindDialect(message, name_) : nullptr;
  proto::Check(!is_dialect_ || differences != nullptr, "a message has the dialects that are used");
  const v1::BodyDescription& body =
      is_dialect_ ? differences->body() : message.options().GetExtension(v1::body);
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    v1::FieldDescription description = descriptions.Of(field);
    std::string name = field.name();
    if (is_dialect_) {
      for (const v1::Dialect::Field& own : differences->fields()) {
        if (own.of() != field.name()) {
          continue;
        }
        name = own.name().empty() ? name : own.name();
        if (own.description().has_like()) {
          description = descriptions.Resolved(own.description(), field.name());
        } else {
          description.MergeFrom(own.description());
        }
      }
    }
    FormField result = FieldOf(field, description);
    result.name = name;
    AddFields(result, description, fields_);
  }
  description_ = body.text();
  AddRefused(body, refused_);
  for (const std::string& like : body.like()) {
    AddRefused(descriptions.Find(like).options().GetExtension(v1::body), refused_);
  }
  markers_.assign(body.markers().begin(), body.markers().end());
  unless_ = body.unless();
  IndexNames();
}

void BodyForm::IndexNames() {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const bool is_new = index_.emplace(fields_[i].name, i).second;
    proto::Check(is_new, "a form has no name twice");
  }
}

std::optional<std::size_t> BodyForm::IndexOf(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

const RefusedField* BodyForm::FindRefused(std::string_view name) const {
  const auto found = std::ranges::find_if(refused_, [&](const RefusedField& one) {
    return one.name.starts_with('*') ? name.ends_with(std::string_view(one.name).substr(1))
                                     : name == one.name;
  });
  return found == refused_.end() ? nullptr : &*found;
}

const std::string& BodyForm::NameOf(const FieldDescriptor& field) const {
  const auto found = std::ranges::find_if(
      fields_, [&](const FormField& one) { return one.field == &field && !one.is_other_name; });
  proto::Check(found != fields_.end(), "a form has every field of its message");
  return found->name;
}

}  // namespace scorecast::coordinator
