#pragma once

#include <map>
#include <span>
#include <string>

#include "coordinator/json/json_writer.h"
#include "coordinator/json/response_form.h"
#include "proto/base/error.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace scorecast::coordinator {

/// What a response has beside its message. Fields are the message's own, by number.
struct BesideMessage {
  std::span<const int> kept;  ///< Lists that are not omitted if they are empty.
  const std::map<int, std::string>* written = nullptr;  ///< Fields that are JSON already.
};

/// Writes a message as JSON, a number at a time. `form` is one of its type.
void WriteResponse(const google::protobuf::Message& response, const ResponseForm& form,
                   const BesideMessage& beside, JsonWriter& writer);

/// The same as a text of one line.
std::string ResponseJson(const google::protobuf::Message& response, const ResponseForm& form);
/// In the form that its own type describes.
std::string ResponseJson(const google::protobuf::Message& response);

/// SGLang's flat error body: {"object":"error","message":…,"type":…,"param":…,"code":…,"reason":…}.
const ResponseForm& ErrorForm();
/// The form of an error that has the members which the clients of all dialects of reranking read:
/// that of such endpoints, and of errors that are no endpoint's, such as that of an unknown URL.
const ResponseForm& UrlErrorForm();
/// The form in which OpenAI's clients read an error.
const ResponseForm& OpenAiErrorForm();

/// The body of an error. `form` is one of a v1::Error.
std::string ErrorJson(const proto::Error& error, const ResponseForm& form);
/// The same in the form UrlErrorForm.
std::string ErrorJson(const proto::Error& error);

}  // namespace scorecast::coordinator
