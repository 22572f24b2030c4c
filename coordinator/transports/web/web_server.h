#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/resources/reply_field.h"
#include "coordinator/transports/web/compressed_contents.h"
#include "coordinator/transports/web/reply_writer.h"
#include "coordinator/transports/web/routes.h"
#include "coordinator/transports/web/web_call.h"
#include "coordinator/transports/web/web_options.h"
#include "coordinator/transports/web/web_request.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What the connections of a server share that answer HTTP requests.
struct WebServer {
  /// The endpoints must outlive the server.
  WebServer(EndpointList endpoints, WebOptions web_options)
      : options(std::move(web_options)),
        routes(endpoints, options.resources, options.refused_urls, options.root_url) {}

  const WebOptions options;
  const Routes routes;
  mutable CompressedContents compressed;
};

/// What a request gets, which is known when its header is.
struct Judgement {
  Route route;
  std::optional<proto::Error> fault;
  ReplyFields fault_fields;  ///< Further fields of the fault's reply.
};

/// What all replies to a request have in common. The endpoint is not set.
ReplyTerms TermsOf(const WebServer& server, const WebRequest& request);

/// The endpoint that the request of a route is for; null if it is for none.
const Endpoint* EndpointOf(const WebRequest& request, const Route& route);

/// Whether the handler of calls gets the request of a route, if it has no fault.
bool IsForHandler(const WebServer& server, const WebRequest& request, const Route& route);

/// The format in which it gets it.
std::unique_ptr<CallFormat> NewFormat(const WebServer& server, WebCall call);

/// Whether the request reads a resource.
bool IsGet(const WebRequest& request);

/// Sets the fault of the request, whose route is set, if it has one.
void Judge(const WebServer& server, const WebRequest& request, bool is_draining,
           Judgement& judgement);

}  // namespace scorecast::coordinator
