#include "coordinator/json/response_form.h"

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include <google/protobuf/descriptor.h>

#include "coordinator/json/json_writer.h"
#include "proto/base/check.h"
#include "proto/json_description.pb.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Member = ResponseForm::Member;

std::string Quoted(std::string_view text) {
  std::string quoted;
  JsonWriter(quoted).Text(text);
  return quoted;
}

ResponseForm::Shape ShapeOf(const Descriptor& description) {
  switch (description.options().GetExtension(v1::shape)) {
    case v1::LIST:
      return ResponseForm::Shape::kList;
    case v1::ONLY_FIELD:
      return ResponseForm::Shape::kOnlyMember;
    default:
      return ResponseForm::Shape::kObject;
  }
}

Member::IfEmpty IfEmptyOf(const v1::ResponseMember& options) {
  switch (options.if_empty()) {
    case v1::ResponseMember::OMITTED:
      return Member::IfEmpty::kOmitted;
    case v1::ResponseMember::IS_NULL:
      return Member::IfEmpty::kNull;
    default:
      return Member::IfEmpty::kWritten;
  }
}

/// Reads the descriptions of one response.
class FormReader {
 public:
  explicit FormReader(const Descriptor& response) : response_(response) {}

  /// `scope` is the type of the message that has the values.
  ResponseForm Read(const Descriptor& description, const Descriptor& scope) const {
    ResponseForm form;
    form.name = description.name();
    form.shape = ShapeOf(description);
    for (int i = 0; i < description.field_count(); ++i) {
      const FieldDescriptor& field = *description.field(i);
      const v1::ResponseMember& options = field.options().GetExtension(v1::member);
      if (options.not_in_json()) {
        continue;
      }
      if (options.inlined()) {
        ResponseForm inlined = Read(*field.message_type(), scope);
        std::move(inlined.members.begin(), inlined.members.end(), std::back_inserter(form.members));
        continue;
      }
      form.members.push_back(ReadMember(field, options, scope));
    }
    const bool has_one = form.shape == ResponseForm::Shape::kOnlyMember;
    proto::Check(!has_one || form.members.size() == 1, "an only field is the only one");
    return form;
  }

 private:
  Member ReadMember(const FieldDescriptor& field, const v1::ResponseMember& options,
                    const Descriptor& scope) const {
    Member member;
    member.described = &field;
    member.key = Quoted(field.name()) + ":";
    member.if_empty = IfEmptyOf(options);
    if (!options.constant().empty()) {
      member.kind = Member::Kind::kConstant;
      member.constant = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING
                            ? Quoted(options.constant())
                            : options.constant();
      return member;
    }
    FindSource(options.from().empty() ? field.name() : options.from(), scope, member);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const bool has_message =
          member.source != nullptr && member.source->cpp_type() == field.cpp_type();
      member.kind = has_message ? Member::Kind::kValue : Member::Kind::kGroup;
      const Descriptor& values = has_message ? *member.source->message_type() : scope;
      member.form = std::make_unique<ResponseForm>(Read(*field.message_type(), values));
    } else {
      proto::Check(member.source != nullptr, "a member of a response has a value");
    }
    for (const auto& name : options.names()) {
      member.kind = Member::Kind::kName;
      member.names.push_back({name.code(), name.below(), name.name()});
    }
    if (!options.grouped_by().empty()) {
      member.grouped_by = scope.FindFieldByName(options.grouped_by());
      proto::Check(member.grouped_by != nullptr, "a list is divided by a field");
    }
    if (!options.keyed_by().empty()) {
      member.keyed_by = scope.FindFieldByName(options.keyed_by());
      proto::Check(member.keyed_by != nullptr, "the keys of a list are a field");
    }
    member.is_json = options.is_json();
    return member;
  }

  void FindSource(std::string_view path, const Descriptor& scope, Member& member) const {
    member.is_of_response = path.starts_with('/');
    const Descriptor* type = member.is_of_response ? &response_ : &scope;
    path.remove_prefix(member.is_of_response ? 1 : 0);
    while (type != nullptr) {
      const std::size_t dot = path.find('.');
      const FieldDescriptor* field = type->FindFieldByName(std::string(path.substr(0, dot)));
      if (field == nullptr || dot == std::string_view::npos) {
        member.source = field;
        return;
      }
      member.path.push_back(field);
      type = field->message_type();
      path.remove_prefix(dot + 1);
    }
  }

  const Descriptor& response_;
};

}  // namespace

const ResponseForm& FormOf(const Descriptor& response, const Descriptor& description) {
  static std::mutex mutex;
  static std::map<std::pair<const Descriptor*, const Descriptor*>, const ResponseForm> forms;
  const std::lock_guard lock(mutex);
  const auto key = std::pair(&response, &description);
  const auto found = forms.find(key);
  if (found != forms.end()) {
    return found->second;
  }
  return forms.emplace(key, FormReader(response).Read(description, response)).first->second;
}

}  // namespace scorecast::coordinator
