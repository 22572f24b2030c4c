#include "coordinator/json/body_form.h"

#include <algorithm>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "coordinator/json/body_members.h"
#include "coordinator/json/body_value.h"
#include "proto/base/check.h"
#include "proto/json_description.pb.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

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

/// See FormField::default_value.
std::shared_ptr<const Message> DefaultOf(const FormField& field) {
  if (field.default_json.empty() || !field.field->has_presence()) {
    return nullptr;
  }
  auto value = BodyJson::parse(field.default_json);
  if (value == false || value == 0 || value == "") {
    return nullptr;
  }
  std::shared_ptr<Message> message(google::protobuf::MessageFactory::generated_factory()
                                       ->GetPrototype(field.field->containing_type())
                                       ->New());
  const bool has_type = !ReadField(value, field.shape, field.name, *message, *field.field);
  proto::Check(has_type, "a default has the type of its field");
  return message;
}

FormField FieldOf(const FieldDescriptor& field, const v1::FieldDescription& description) {
  FormField result;
  result.name = field.name();
  result.field = &field;
  result.shape = ShapeOf(field, description);
  result.description = description.text();
  result.is_required = description.required();
  result.default_json = description.default_json();
  result.default_value = DefaultOf(result);
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
    other.default_value = nullptr;
    other.strings = nullptr;
    other.shape.takes_other_strings = false;
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

BodyForm::BodyForm(const Descriptor& message) : BodyForm(message, message.name()) {}

BodyForm::BodyForm(const Descriptor& message, std::string_view dialect)
    : message_(message), name_(dialect), is_dialect_(name_ != message.name()) {
  const Descriptions descriptions(message);
  const v1::Dialect* differences = is_dialect_ ? FindDialect(message, name_) : nullptr;
  proto::Check(!is_dialect_ || differences != nullptr, "a message has the dialects that are used");
  const auto lacks = [&](const FieldDescriptor& field) {
    return is_dialect_ && std::ranges::count(differences->without(), field.name()) > 0;
  };
  const v1::BodyDescription& body =
      is_dialect_ ? differences->body() : message.options().GetExtension(v1::body);
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (lacks(field)) {
      continue;
    }
    v1::FieldDescription description = descriptions.Of(field);
    std::string name = field.name();
    if (is_dialect_) {
      for (const v1::Dialect::Field& own : differences->fields()) {
        if (own.of() != field.name()) {
          continue;
        }
        name = own.name().empty() ? name : own.name();
        if (own.own_names()) {
          description.clear_names();
          description.clear_one_name();
        }
        if (own.description().has_like()) {
          description = descriptions.Resolved(own.description(), field.name());
        } else {
          description.MergeFrom(own.description());
        }
      }
    }
    FormField result = FieldOf(field, description);
    result.name = name;
    if (description.form() == v1::FieldDescription::OTHERS) {
      others_ = std::move(result);
      continue;
    }
    if (description.has_strings_set()) {
      const FieldDescriptor* set = message.FindFieldByName(description.strings_set());
      proto::Check(set != nullptr, "a message has the field that a string sets");
      FormField strings = FieldOf(*set, descriptions.Of(*set));
      strings.name = name;
      strings.is_other_name = true;
      result.strings = std::make_shared<const FormField>(std::move(strings));
    }
    AddFields(result, description, fields_);
  }
  description_ = body.text();
  example_ = body.example();
  IndexNames();
  AddRefused(body, refused_);
  for (const std::string& like : body.like()) {
    AddRefused(descriptions.Find(like).options().GetExtension(v1::body), refused_);
  }
  // What is refused of others may be a field of this form.
  std::erase_if(refused_, [&](const RefusedField& one) { return IndexOf(one.name).has_value(); });
  response_ = body.response().empty() ? nullptr : &descriptions.Find(body.response());
  markers_.assign(body.markers().begin(), body.markers().end());
  unless_ = body.unless();
  refuses_unknown_ = body.refuses_unknown();
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
