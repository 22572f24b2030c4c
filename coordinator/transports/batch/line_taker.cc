#include "coordinator/transports/batch/line_taker.h"

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/endpoints/url_pattern.h"
#include "coordinator/generate/seed.h"
#include "coordinator/json/body_members.h"
#include "coordinator/json/json_text.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;

const std::string* StringIn(const BodyJson& json, const char* field) {
  const BodyJson* member = FindMember(json, field);
  return member == nullptr ? nullptr : member->get_ptr<const std::string*>();
}

/// A body that is too much for the memory must not end the process.
ParsedRequest ParseBody(const Endpoint& endpoint, BodyJson body) {
  try {
    return endpoint.FromJson(std::move(body));
  } catch (const std::exception& exception) {
    return proto::Unexpected(FaultOf(exception));
  }
}

void Refuse(Error error, std::int64_t line_number, LineCall& call) {
  proto::LogDebug("batch: line {}: {} {}", line_number, error.reason, error.message);
  call.Refuse(std::move(error), line_number);
}

}  // namespace

LineTaker::LineTaker(RequestService& service, LineWindow& window, std::uint64_t seed,
                     std::int64_t created)
    : service_(service), window_(window), seed_(seed), created_(created) {}

void LineTaker::Take(const BatchLine& line, const std::shared_ptr<LineCall>& call) const {
  const Clock::time_point begin = Clock::now();
  const auto refuse = [&](Error error) { Refuse(std::move(error), line.line_number, *call); };
  proto::Expected<BodyJson> parsed = ParseJson(line.text, service_.max_values());
  if (!parsed) {
    return refuse(parsed.error());
  }
  BodyJson& json = *parsed;
  const std::string* custom_id = StringIn(json, "custom_id");
  if (custom_id == nullptr) {
    return refuse(BadRequest("missing_custom_id",
                             "A line must be an object with a string custom_id.", "custom_id"));
  }
  call->SetCustomId(*custom_id);
  const std::string* method = StringIn(json, "method");
  if (method == nullptr || *method != "POST") {
    return refuse(BadRequest("wrong_method", "method must be \"POST\".", "method"));
  }
  const std::string* url = StringIn(json, "url");
  const Endpoint* endpoint = url == nullptr ? nullptr : service_.FindByUrl(*url);
  if (endpoint == nullptr) {
    return refuse(UrlFault(url));
  }
  call->SetEndpoint(*endpoint);
  BodyJson* body = FindMember(json, "body");
  ParsedRequest request = ParseBody(*endpoint, body == nullptr ? BodyJson() : std::move(*body));
  Clock::duration waited{0};
  if (request) {
    NameModel(NamedIn(endpoint->urls(), *url), **request);
    const std::uint64_t seed = DerivedSeed(seed_, static_cast<std::uint64_t>(line.number));
    call->SetDefaults(seed, ResponseIdentity{.id_seed = seed, .created = created_});
    if (!service_.RequestFault(*endpoint, **request)) {  // Begin refuses others.
      const Clock::time_point waiting_since = Clock::now();
      window_.AwaitResponseRoom(*call, service_.ResponseBytesBound(**request));
      waited = Clock::now() - waiting_since;
    }
  }
  // The request's own time does not count while it waits for the lines before it.
  call->SetArrived(begin + waited);
  service_.Begin(call, std::move(request));
}

void LineTaker::RefuseTooLong(std::int64_t line_number, std::int64_t max_bytes,
                              LineCall& call) const {
  Refuse({413, "request_too_large",
          "The line is longer than " + proto::Count(max_bytes, "byte") + ".", ""},
         line_number, call);
}

Error LineTaker::UrlFault(const std::string* url) const {
  if (const RefusedUrl* refused = url == nullptr ? nullptr : FindRefusedUrl(*url)) {
    return BadRequest("unknown_url", refused->message, "url");
  }
  std::string message = url == nullptr ? "url must be a string" : "Unknown url " + Quoted(*url);
  message += ": this server has";
  const char* separator = " ";
  for (const Endpoint* endpoint : service_.endpoints()) {
    for (const std::string_view own : endpoint->urls()) {
      message += separator;
      message += own;
      separator = ", ";
    }
  }
  return BadRequest("unknown_url", message + ".", "url");
}

}  // namespace scorecast::coordinator
