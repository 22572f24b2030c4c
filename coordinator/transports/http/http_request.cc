#include "coordinator/transports/http/http_request.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "coordinator/request/request_error.h"
#include "coordinator/transports/http/http_format.h"

namespace scorecast::coordinator {
namespace {

ParsedRequest Parse(const RequestService& service, const Endpoint& endpoint,
                    const std::string& text) {
  const auto json = ParseJson(text, service.max_values());
  if (!json) {
    return proto::Unexpected(json.error());
  }
  return endpoint.FromJson(*json);
}

/// A parsed body, the count of its bytes, and its size if it was compressed.
struct ParsedBody {
  ParsedRequest request;
  Held bytes = nullptr;
  std::size_t inflated_bytes = 0;
};

ParsedBody Parse(const RequestService& service, const Endpoint& endpoint, const HttpBody& body,
                 HeldBytes& requests) {
  if (!body.is_compressed) {
    return {Parse(service, endpoint, body.bytes.text),
            std::make_shared<std::vector<Held>>(body.bytes.held)};
  }
  const auto inflated = Inflate(body.bytes.text, body.max_bytes, requests);
  if (!inflated) {
    return {proto::Unexpected(inflated.error())};
  }
  return {Parse(service, endpoint, inflated->text),
          std::make_shared<std::vector<Held>>(inflated->held), inflated->text.size()};
}

}  // namespace

IncomingRequest RefusedHttpRequest(const RequestService& service, ReplyTerms terms,
                                   const proto::Error& refusal) {
  const Endpoint& endpoint = *terms.endpoint;
  std::string request_id = terms.request_id;
  return {.format = std::make_shared<HttpFormat>(endpoint, ReplyWriter(std::move(terms), service),
                                                 /*streams=*/false),
          .endpoint = &endpoint,
          .parsed = proto::Unexpected(refusal),
          .bytes = nullptr,
          .request_id = std::move(request_id)};
}

IncomingRequest ParseHttpRequest(const RequestService& service, ReplyTerms terms,
                                 const HttpBody& body, HeldBytes& requests) {
  const Endpoint& endpoint = *terms.endpoint;
  ParsedBody parsed = [&]() -> ParsedBody {
    try {
      return Parse(service, endpoint, body, requests);
    } catch (const std::exception& exception) {
      return {proto::Unexpected(FaultOf(exception))};
    }
  }();
  const bool streams = parsed.request && (*parsed.request)->streams();
  std::string request_id = terms.request_id;
  return {std::make_shared<HttpFormat>(endpoint, ReplyWriter(std::move(terms), service), streams),
          &endpoint,
          std::move(parsed.request),
          std::move(parsed.bytes),
          parsed.inflated_bytes,
          std::move(request_id)};
}

}  // namespace scorecast::coordinator
