#include "coordinator/endpoints/decisions/systemone_endpoint.h"

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "coordinator/endpoints/decisions/systemone_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

/// A key that an object in `json` has twice; null if there is none. The order of keys is meaning,
/// so none of them may be dropped silently.
const std::string* DuplicateKey(const BodyJson& json) {
  if (json.is_object()) {
    std::unordered_set<std::string_view> seen;
    for (const auto& [key, value] : *json.get_ptr<const BodyJson::object_t*>()) {
      if (!seen.insert(key).second) {
        return &key;
      }
      if (const std::string* duplicate = DuplicateKey(value)) {
        return duplicate;
      }
    }
  } else if (json.is_array()) {
    for (const BodyJson& value : json) {
      if (const std::string* duplicate = DuplicateKey(value)) {
        return duplicate;
      }
    }
  }
  return nullptr;
}

class SystemOne : public MessageEndpoint {
 public:
  SystemOne()
      : MessageEndpoint(
            "systemone", {"/v1/systemone", "/systemone", "/api/v1/systemone"},
            {&FormOf(*v1::SystemOneResponse::descriptor(), *v1::SystemOneBody::descriptor())},
            RequestFormOf<v1::SystemOneRequest>({PrepareSystemOne, SystemOneResponseBytesBound})) {}

  ParsedRequest FromJson(BodyJson body) const override {
    if (const std::string* key = DuplicateKey(body)) {
      return proto::Unexpected(BadRequest(
          "duplicate_key", "An object of the request has the key " + Quoted(*key) + " twice.", ""));
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
