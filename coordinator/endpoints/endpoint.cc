#include "coordinator/endpoints/endpoint.h"

#include "coordinator/json/response_writer.h"
#include "proto/base/check.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

ParsedRequest Endpoint::FromMessage(v1::Request /*message*/) const {
  proto::Check(false, "an endpoint that has a message reads it");
  return std::unique_ptr<EndpointRequest>();
}

const ResponseForm& Endpoint::error_form() const { return ErrorForm(); }

std::string Endpoint::ErrorToJson(const proto::Error& error) const {
  return ErrorJson(error, error_form());
}

}  // namespace scorecast::coordinator
