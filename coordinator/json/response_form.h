#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace scorecast::coordinator {

/// How a message becomes JSON: the options of proto/json_description.proto, ready for use.
struct ResponseForm {
  struct Member;
  enum class Shape { kObject, kList, kOnlyMember };

  std::string name;  ///< Of the message that describes the form.
  Shape shape = Shape::kObject;
  std::vector<Member> members;
};

struct ResponseForm::Member {
  enum class Kind {
    kConstant,
    kValue,  ///< The value of a field.
    kName,   ///< The name of the code that a field has.
    kGroup,  ///< An object of its own, with values of the message that has the group.
  };
  enum class IfEmpty { kWritten, kOmitted, kNull };
  /// Code 0 and `below` 0: the name of any code.
  struct CodeName {
    int code = 0;
    int below = 0;
    std::string name;
  };

  Kind kind = Kind::kValue;
  const google::protobuf::FieldDescriptor* described = nullptr;  ///< The field of the description.
  std::string key;                                               ///< As JSON, with a colon.
  std::string constant;                                          ///< As JSON.
  std::vector<CodeName> names;
  /// The value is that of `source` in the message that the path leads to, from the whole response
  /// or from the message that has the member. Null if a group is always there.
  bool is_of_response = false;
  std::vector<const google::protobuf::FieldDescriptor*> path;
  const google::protobuf::FieldDescriptor* source = nullptr;
  IfEmpty if_empty = IfEmpty::kWritten;
  const google::protobuf::FieldDescriptor* grouped_by = nullptr;
  const google::protobuf::FieldDescriptor* keyed_by = nullptr;
  bool is_json = false;                      ///< Texts are written as they are.
  std::unique_ptr<const ResponseForm> form;  ///< That of each message, or of the group.
};

/// The form that `description` describes of a message of the type `response`; both may be the same.
/// Lives as long as the process. Safe to call from any thread.
const ResponseForm& FormOf(const google::protobuf::Descriptor& response,
                           const google::protobuf::Descriptor& description);
/// The form that a type describes of itself.
inline const ResponseForm& FormOf(const google::protobuf::Descriptor& response) {
  return FormOf(response, response);
}

}  // namespace scorecast::coordinator
