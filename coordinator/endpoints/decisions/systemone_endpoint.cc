#include "coordinator/endpoints/decisions/systemone_endpoint.h"

#include <string>
#include <string_view>
#include <utility>

#include "coordinator/endpoints/decisions/systemone_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/json/body_json.h"
#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class SystemOne : public MessageEndpoint {
 public:
  SystemOne()
      : MessageEndpoint(
            "systemone", {"/v1/systemone", "/systemone", "/api/v1/systemone"},
            {&FormOf(*v1::SystemOneResponse::descriptor(), *v1::SystemOneBody::descriptor())},
            RequestFormOf<v1::SystemOneRequest>(
                {PrepareSystemOne,
                 SystemOneResponseBytesBound,
                 {ModelKind::kLanguageModel, ModelKind::kClassifier}})) {}

  ParsedRequest FromJson(BodyJson body) const override {
    // The order of keys is meaning, so none of them may be dropped silently.
    if (auto fault = DuplicateKeyFault(body, "")) {
      return proto::Unexpected(*std::move(fault));
    }
    return MessageEndpoint::FromJson(std::move(body));
  }

  /// The official SDK gives up after 10 s.
  double max_wait_seconds() const override { return 10; }
  /// A client may ask for any name, such as jev-latest.
  bool echoes_model() const override { return false; }

  std::string_view id_field() const override { return "x-typesafe-request-id"; }

  const ResponseForm& error_form() const override {
    return FormOf(*v1::Error::descriptor(), *v1::SystemOneErrorBody::descriptor());
  }
};

}  // namespace

const Endpoint& SystemOneEndpoint() {
  static const SystemOne endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
