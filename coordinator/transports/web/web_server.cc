#include "coordinator/transports/web/web_server.h"

#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/transports/web/field_value.h"
#include "coordinator/transports/web/http_format.h"

namespace scorecast::coordinator {
namespace {

proto::Error WrongMethod(const WebRequest& request, const std::string& allowed) {
  return {405, "wrong_method",
          Quoted(request.path) + " does not have the method " + Quoted(request.method) +
              ". It has: " + allowed + ".",
          "method"};
}

}  // namespace

ReplyTerms TermsOf(const WebServer& server, const WebRequest& request) {
  ReplyTerms terms;
  terms.is_head = request.method == "HEAD";
  terms.coding = ReplyCodingOf(request.accept_encoding);
  terms.compress_from = server.options.compress_from;
  return terms;
}

const Endpoint* EndpointOf(const WebRequest& request, const Route& route) {
  return request.method == "POST" ? route.endpoint : nullptr;
}

bool IsForHandler(const WebServer& server, const WebRequest& request, const Route& route) {
  if (server.options.pass_on == nullptr) {
    return EndpointOf(request, route) != nullptr;
  }
  return request.method != "OPTIONS" && (route.resource == nullptr || !IsGet(request));
}

std::unique_ptr<CallFormat> NewFormat(const WebServer& server, WebCall call) {
  if (server.options.pass_on != nullptr) {
    return server.options.pass_on(std::move(call));
  }
  return std::make_unique<HttpFormat>(*call.endpoint, std::move(call.body), std::move(call.address),
                                      std::move(call.writer), std::move(call.url_model));
}

bool IsGet(const WebRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

void Judge(const WebServer& server, const WebRequest& request, bool is_draining,
           Judgement& judgement) {
  const Route& route = judgement.route;
  const bool is_options = request.method == "OPTIONS";
  if (is_draining && (route.resource == nullptr || !route.resource->is_state)) {
    judgement.fault = Draining();
  } else if (server.options.pass_on != nullptr) {
    return;  // The server to which it is passed on judges it.
  } else if (!route.exists()) {
    if (!is_options || request.path != "*") {
      judgement.fault = server.routes.NotFound(request.path, route);
    }
  } else if (EndpointOf(request, route) != nullptr) {
    judgement.fault = ContentTypeFault(request.content_type);
    if (const auto fault = ContentEncodingFault(request.content_encoding)) {
      judgement.fault = fault;
      judgement.fault_fields = {{"Accept-Encoding", "gzip, deflate, zstd"}};
    }
  } else if (!is_options && (route.resource == nullptr || !IsGet(request))) {
    judgement.fault = WrongMethod(request, route.Allow());
    judgement.fault_fields = {{"Allow", route.Allow()}};
  }
}

}  // namespace scorecast::coordinator
