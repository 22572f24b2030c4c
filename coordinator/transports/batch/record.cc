#include "coordinator/transports/batch/record.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace {

bool IsStateOfServer(int code) { return code == 429 || code == 499 || code == 503; }

}  // namespace

Record ErrorRecord(OrderedJson custom_id, const proto::Error& error, std::int64_t line_number) {
  OrderedJson record;
  record["custom_id"] = std::move(custom_id);
  record["response"] = nullptr;
  OrderedJson& body = record["error"];
  body["code"] = error.code;
  body["reason"] = error.reason;
  body["message"] = error.message;
  body["line"] = line_number;
  return {Record::Kind::kErrorRecord, ToJsonText(record), {}};
}

Record ResponseRecord(const std::string& custom_id, const Endpoint& endpoint,
                      const DeferredResponse& deferred) {
  const auto response = deferred.form();
  if (!response && IsStateOfServer(response.error().code)) {
    return {Record::Kind::kNone, {}, response.error()};
  }
  OrderedJson record;
  record["custom_id"] = custom_id;
  OrderedJson& json = record["response"];
  json["status_code"] = response ? 200 : response.error().code;
  json["body"] = response ? (*response)->ToJson() : endpoint.ErrorToJson(response.error());
  record["error"] = nullptr;
  return {response ? Record::Kind::kSucceeded : Record::Kind::kRefused, ToJsonText(record), {}};
}

}  // namespace scorecast::coordinator
