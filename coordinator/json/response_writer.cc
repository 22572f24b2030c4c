#include "coordinator/json/response_writer.h"

#include <algorithm>
#include <cstdint>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>

#include "proto/base/check.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/error_message.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Member = ResponseForm::Member;

std::string_view NameOf(int code, const std::vector<Member::CodeName>& names) {
  for (const Member::CodeName& name : names) {
    const bool is_any = name.code == 0 && name.below == 0;
    if (is_any || code == name.code || code < name.below) {
      return name.name;
    }
  }
  return "";
}

class ResponseWriter {
 public:
  ResponseWriter(const Message& response, const BesideMessage& beside, JsonWriter& writer)
      : response_(response), beside_(beside), writer_(writer) {}

  void Write(const Message& message, const ResponseForm& form) {
    switch (form.shape) {
      case ResponseForm::Shape::kObject:
        writer_.BeginObject();
        for (const Member& member : form.members) {
          WriteMember(message, member, /*has_key=*/true);
        }
        writer_.EndObject();
        return;
      case ResponseForm::Shape::kList:
        writer_.BeginList();
        for (const Member& member : form.members) {
          WriteMember(message, member, /*has_key=*/false);
        }
        writer_.EndList();
        return;
      case ResponseForm::Shape::kOnlyMember:
        WriteMember(message, form.members.front(), /*has_key=*/false);
    }
  }

 private:
  void WriteMember(const Message& message, const Member& member, bool has_key) {
    const Message* scope = member.is_of_response ? &response_ : &message;
    for (const FieldDescriptor* field : member.path) {
      scope = &scope->GetReflection()->GetMessage(*scope, field);
    }
    const std::string* const written = WrittenOf(*scope, member);
    const bool is_empty = written == nullptr && IsEmpty(*scope, member);
    if (is_empty && member.if_empty != Member::IfEmpty::kNull) {
      return;
    }
    if (has_key) {
      writer_.JsonKey(member.key);
    }
    if (is_empty) {
      return writer_.Json("null");
    }
    if (written != nullptr) {
      return writer_.Json(*written);
    }
    switch (member.kind) {
      case Member::Kind::kConstant:
        return writer_.Json(member.constant);
      case Member::Kind::kGroup:
        return Write(message, *member.form);
      case Member::Kind::kName:
        return writer_.Text(
            NameOf(scope->GetReflection()->GetInt32(*scope, member.source), member.names));
      case Member::Kind::kValue:
        return member.source->is_repeated() ? WriteLists(*scope, member)
                                            : WriteValue(*scope, member);
    }
  }

  /// The member's JSON, if it is written already.
  const std::string* WrittenOf(const Message& scope, const Member& member) const {
    if (beside_.written == nullptr || &scope != &response_ || member.source == nullptr) {
      return nullptr;
    }
    const auto written = beside_.written->find(member.source->number());
    return written == beside_.written->end() ? nullptr : &written->second;
  }

  /// Whether the member is omitted, or null.
  bool IsEmpty(const Message& scope, const Member& member) const {
    const FieldDescriptor* const source = member.source;
    if (source == nullptr) {
      return false;
    }
    const Reflection& reflection = *scope.GetReflection();
    if (source->has_presence()) {
      return !reflection.HasField(scope, source);
    }
    if (member.if_empty == Member::IfEmpty::kWritten) {
      return false;
    }
    // Without presence, a field is there if it has another value than the default.
    return source->is_repeated()
               ? reflection.FieldSize(scope, source) == 0 && !IsKept(scope, *source)
               : !reflection.HasField(scope, source);
  }

  bool IsKept(const Message& scope, const FieldDescriptor& list) const {
    return &scope == &response_ &&
           std::ranges::find(beside_.kept, list.number()) != beside_.kept.end();
  }

  /// A list, or lists of as many of its elements as the description says.
  void WriteLists(const Message& message, const Member& member) {
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor* const groups = member.grouped_by;
    const int num_groups = groups == nullptr ? 0 : reflection.FieldSize(message, groups);
    if (member.keyed_by != nullptr) {
      return WriteKeyed(message, member);
    }
    writer_.BeginList();
    if (num_groups == 0) {
      WriteElements(message, member, 0, reflection.FieldSize(message, member.source));
    }
    for (int group = 0, begin = 0; group < num_groups; ++group) {
      const auto size = static_cast<int>(reflection.GetRepeatedInt64(message, groups, group));
      writer_.BeginList();
      WriteElements(message, member, begin, begin + size);
      writer_.EndList();
      begin += size;
    }
    writer_.EndList();
  }

  /// An object whose members are the elements of a list.
  void WriteKeyed(const Message& message, const Member& member) {
    const Reflection& reflection = *message.GetReflection();
    std::string scratch;
    writer_.BeginObject();
    for (int i = 0; i < reflection.FieldSize(message, member.source); ++i) {
      writer_.Key(reflection.GetRepeatedStringReference(message, member.keyed_by, i, &scratch));
      WriteElements(message, member, i, i + 1);
    }
    writer_.EndObject();
  }

  void WriteElements(const Message& message, const Member& member, int begin, int end) {
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor* const field = member.source;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        const auto numbers = reflection.GetRepeatedFieldRef<double>(message, field);
        for (int i = begin; i < end; ++i) {
          writer_.Number(numbers.Get(i));
        }
        return;
      }
      case FieldDescriptor::CPPTYPE_FLOAT: {
        const auto numbers = reflection.GetRepeatedFieldRef<float>(message, field);
        for (int i = begin; i < end; ++i) {
          writer_.Float(numbers.Get(i));
        }
        return;
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        const auto integers = reflection.GetRepeatedFieldRef<std::int32_t>(message, field);
        for (int i = begin; i < end; ++i) {
          writer_.Integer(integers.Get(i));
        }
        return;
      }
      case FieldDescriptor::CPPTYPE_BOOL: {
        const auto truths = reflection.GetRepeatedFieldRef<bool>(message, field);
        for (int i = begin; i < end; ++i) {
          writer_.Json(truths.Get(i) ? "true" : "false");
        }
        return;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        for (int i = begin; i < end; ++i) {
          Write(reflection.GetRepeatedMessage(message, field, i), *member.form);
        }
        return;
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string scratch;
        for (int i = begin; i < end; ++i) {
          const std::string& text =
              reflection.GetRepeatedStringReference(message, field, i, &scratch);
          member.is_json ? writer_.Json(text) : writer_.Text(text);
        }
        return;
      }
      default:
        proto::Check(false, "lists of responses have numbers, ids, truths, texts or messages");
    }
  }

  void WriteValue(const Message& message, const Member& member) {
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor* const field = member.source;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return writer_.Number(reflection.GetDouble(message, field));
      case FieldDescriptor::CPPTYPE_INT32:
        return writer_.Integer(reflection.GetInt32(message, field));
      case FieldDescriptor::CPPTYPE_INT64:
        return writer_.Integer(reflection.GetInt64(message, field));
      case FieldDescriptor::CPPTYPE_UINT32:
        return writer_.Unsigned(reflection.GetUInt32(message, field));
      case FieldDescriptor::CPPTYPE_UINT64:
        return writer_.Unsigned(reflection.GetUInt64(message, field));
      case FieldDescriptor::CPPTYPE_BOOL:
        return writer_.Json(reflection.GetBool(message, field) ? "true" : "false");
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string scratch;
        const std::string& text = reflection.GetStringReference(message, field, &scratch);
        return member.is_json ? writer_.Json(text) : writer_.Text(text);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Write(reflection.GetMessage(message, field), *member.form);
      default:
        proto::Check(false, "members of responses have no other types");
    }
  }

  const Message& response_;
  const BesideMessage& beside_;
  JsonWriter& writer_;
};

}  // namespace

void WriteResponse(const Message& response, const ResponseForm& form, const BesideMessage& beside,
                   JsonWriter& writer) {
  ResponseWriter(response, beside, writer).Write(response, form);
}

std::string ResponseJson(const Message& response, const ResponseForm& form) {
  std::string text;
  JsonWriter writer(text);
  WriteResponse(response, form, {}, writer);
  return text;
}

std::string ResponseJson(const Message& response) {
  const google::protobuf::Descriptor& type = *response.GetDescriptor();
  return ResponseJson(response, FormOf(type, type));
}

const ResponseForm& ErrorForm() {
  static const ResponseForm& form = FormOf(*v1::Error::descriptor(), *v1::ErrorBody::descriptor());
  return form;
}

const ResponseForm& UrlErrorForm() {
  static const ResponseForm& form =
      FormOf(*v1::Error::descriptor(), *v1::RerankErrorBody::descriptor());
  return form;
}

const ResponseForm& OpenAiErrorForm() {
  static const ResponseForm& form =
      FormOf(*v1::Error::descriptor(), *v1::OpenAiErrorBody::descriptor());
  return form;
}

std::string ErrorJson(const proto::Error& error, const ResponseForm& form) {
  v1::Error message;
  ToMessage(error, message);
  return ResponseJson(message, form);
}

std::string ErrorJson(const proto::Error& error) { return ErrorJson(error, UrlErrorForm()); }

}  // namespace scorecast::coordinator
