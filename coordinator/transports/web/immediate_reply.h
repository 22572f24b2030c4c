#pragma once

#include <memory>
#include <string>

#include "coordinator/access/api_keys.h"
#include "coordinator/resources/reply_field.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/transports/connection/call_handler.h"
#include "coordinator/transports/web/reply_writer.h"
#include "coordinator/transports/web/web_request.h"
#include "coordinator/transports/web/web_server.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Whose request is answered, and where it counts if it is refused.
struct Requester {
  CallHandler& handler;
  const ClientId& client;
  const Holder& holder;      ///< Null if the client has shown no key.
  bool is_of_front = false;  ///< A front has let the client in.
};

/// The bytes of a reply that is no endpoint's response.
struct ImmediateReply {
  std::string bytes;
  std::shared_ptr<const std::string> rest = nullptr;  ///< See Reply::rest.
};

/// Answers a request that has a fault, or that is for no endpoint. `options_fields` are further
/// fields of the reply to an OPTIONS.
ImmediateReply ReplyAtOnce(const WebServer& server, const WebRequest& request,
                           const Judgement& judgement, const Requester& requester,
                           ReplyWriter& writer, ReplyFields options_fields = {});

/// Refuses the request, and counts that.
ImmediateReply RefusalReply(const Judgement& judgement, const Requester& requester,
                            ReplyWriter& writer, const proto::Error& error);

/// Logs the refusal of an HTTP request that reaches no endpoint. `holder` is the name of a key, or
/// empty.
void LogWebRefusal(const std::string& request_id, const std::string& holder,
                   const proto::Error& error);

/// The methods that the path of a request has, for the field Allow. All, if nothing is known of it.
std::string AllowedMethods(const WebRequest& request, const Route& route);

}  // namespace scorecast::coordinator
