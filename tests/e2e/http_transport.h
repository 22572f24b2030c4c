#pragma once

#include <vector>

#include "tests/coordinator/transports/http/http_client.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {

/// A connection to the service's port for HTTP.
coordinator::HttpClient ConnectToHttp(const Service& service);

/// Starts a service, sends the requests one after another on one HTTP connection, and drains the
/// service. Returns the replies as RunThroughSocket does.
BatchRun RunThroughHttp(const BatchCommand& command, const std::vector<EndpointRequest>& requests);

}  // namespace scorecast::testing
