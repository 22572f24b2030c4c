#pragma once

#include <functional>
#include <memory>
#include <string>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/transports/connection/address_bytes.h"
#include "coordinator/transports/connection/call_format.h"
#include "coordinator/transports/web/http_body.h"
#include "coordinator/transports/web/reply_writer.h"
#include "coordinator/transports/web/web_request.h"

namespace scorecast::coordinator {

/// An HTTP request that the handler of calls gets.
struct WebCall {
  WebRequest request;
  const Endpoint* endpoint = nullptr;  ///< Null if this server has none at the URL.
  std::string url_model;               ///< The model that the URL names; may be empty.
  HttpBody body;
  std::shared_ptr<AddressBytes> address;  ///< The bytes of the client.
  std::unique_ptr<ReplyWriter> writer;
};

using MakeWebFormat = std::function<std::unique_ptr<CallFormat>(WebCall)>;

}  // namespace scorecast::coordinator
