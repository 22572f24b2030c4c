#include "coordinator/endpoints/endpoint.h"

#include "proto/base/check.h"

namespace scorecast::coordinator {

void Endpoint::ToMessage(std::size_t /*output*/, const CompletionDelta& /*delta*/,
                         v1::Response& /*message*/) const {
  proto::Check(false, "an endpoint whose requests stream has a message for deltas");
}

}  // namespace scorecast::coordinator
