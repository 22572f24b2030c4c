#include "coordinator/transports/batch/line_taker.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/generate/seed.h"
#include "coordinator/json/body_members.h"
#include "coordinator/json/json_text.h"
#include "coordinator/request/request_error.h"
#include "coordinator/transports/batch/line_request.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;

const std::string* StringIn(const BodyJson& json, const char* field) {
  const BodyJson* member = FindMember(json, field);
  return member == nullptr ? nullptr : member->get_ptr<const std::string*>();
}

void Refuse(Error error, std::int64_t line_number, OpenLine& opened) {
  proto::LogDebug("batch: line {}: {} {}", line_number, error.reason, error.message);
  opened.Refuse(std::move(error), line_number);
}

}  // namespace

LineTaker::LineTaker(LineComputer& computer, std::uint64_t seed, std::int64_t created)
    : computer_(computer), seed_(seed), created_(created) {}

void LineTaker::Take(const BatchLine& line, const std::shared_ptr<OpenLine>& opened) const {
  const Clock::time_point begin = Clock::now();
  const auto refuse = [&](Error error) { Refuse(std::move(error), line.line_number, *opened); };
  proto::Expected<BodyJson> parsed = ParseJson(line.text, computer_.max_values());
  if (!parsed) {
    return refuse(parsed.error());
  }
  BodyJson& json = *parsed;
  const std::string* custom_id = StringIn(json, "custom_id");
  if (custom_id == nullptr) {
    return refuse(BadRequest("missing_custom_id",
                             "A line must be an object with a string custom_id.", "custom_id"));
  }
  opened->SetCustomId(*custom_id);
  const std::string* method = StringIn(json, "method");
  if (method == nullptr || *method != "POST") {
    return refuse(BadRequest("wrong_method", "method must be \"POST\".", "method"));
  }
  const std::string* url = StringIn(json, "url");
  const Endpoint* endpoint = url == nullptr ? nullptr : FindByUrl(computer_.endpoints(), *url);
  if (endpoint == nullptr) {
    return refuse(UrlFault(url));
  }
  const std::uint64_t seed = DerivedSeed(seed_, static_cast<std::uint64_t>(line.number));
  BodyJson* body = FindMember(json, "body");
  computer_.Begin(opened, {.endpoint = endpoint,
                           .url = *url,
                           .body = body == nullptr ? BodyJson() : std::move(*body),
                           .default_seed = seed,
                           .identity = {.id_seed = seed, .created = created_},
                           .begun = begin});
}

void LineTaker::RefuseTooLong(std::int64_t line_number, std::int64_t max_bytes,
                              OpenLine& opened) const {
  Refuse({413, "request_too_large",
          "The line is longer than " + proto::Count(max_bytes, "byte") + ".", ""},
         line_number, opened);
}

Error LineTaker::UrlFault(const std::string* url) const {
  if (const RefusedUrl* refused = url == nullptr ? nullptr : FindRefusedUrl(*url)) {
    return BadRequest("unknown_url", refused->message, "url");
  }
  std::string message = url == nullptr ? "url must be a string" : "Unknown url " + Quoted(*url);
  message += ": this server has";
  const char* separator = " ";
  for (const Endpoint* endpoint : computer_.endpoints()) {
    for (const std::string_view own : endpoint->urls()) {
      message += separator;
      message += own;
      separator = ", ";
    }
  }
  return BadRequest("unknown_url", message + ".", "url");
}

}  // namespace scorecast::coordinator
