#include "coordinator/endpoints/endpoint.h"

#include <nlohmann/json.hpp>

#include "proto/base/check.h"

namespace scorecast::coordinator {

OrderedJson EndpointResponse::ToJson() const {
  std::string text;
  JsonWriter writer([&](std::string_view piece) { text += piece; });
  WriteJson(writer);
  writer.Finish();
  return OrderedJson::parse(text);
}

void EndpointResponse::WriteJson(JsonWriter& writer) const { writer.Value(ToJson()); }

void EndpointResponse::ToMessage(v1::Response& /*message*/) const {
  proto::Check(false, "an endpoint that has a message converts its responses");
}

ParsedRequest Endpoint::FromMessage(const v1::Request& /*message*/) const {
  proto::Check(false, "an endpoint that has a message reads it");
  return std::unique_ptr<EndpointRequest>();
}

void Endpoint::ToMessage(std::size_t /*output*/, const CompletionDelta& /*delta*/,
                         v1::Response& /*message*/) const {
  proto::Check(false, "an endpoint whose requests stream has a message for deltas");
}

OrderedJson Endpoint::DeltaToJson(std::size_t /*output*/, const CompletionDelta& /*delta*/) const {
  proto::Check(false, "an endpoint whose requests stream has JSON for deltas");
  return {};
}

OrderedJson Endpoint::ErrorToJson(const proto::Error& error) const { return ErrorBody(error); }

}  // namespace scorecast::coordinator
