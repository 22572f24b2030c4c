#include "coordinator/transports/batch/record.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"

namespace scorecast::coordinator {
namespace {

bool IsStateOfServer(int code) { return code == 429 || code == 499 || code == 503; }

}  // namespace

Record ErrorRecord(const std::optional<std::string>& custom_id, const proto::Error& error,
                   std::int64_t line_number) {
  OrderedJson record;
  record["custom_id"] = custom_id ? OrderedJson(*custom_id) : OrderedJson(nullptr);
  record["response"] = nullptr;
  OrderedJson& body = record["error"];
  body["code"] = error.code;
  body["reason"] = error.reason;
  body["message"] = error.message;
  body["line"] = line_number;
  return {Record::Kind::kErrorRecord,
          [record = std::move(record)](JsonWriter& writer) { writer.Value(record); },
          {}};
}

Record ResponseRecord(const std::string& custom_id, const Endpoint& endpoint,
                      proto::Expected<std::unique_ptr<EndpointResponse>> formed) {
  if (!formed && IsStateOfServer(formed.error().code)) {
    return {Record::Kind::kNone, {}, formed.error()};
  }
  const auto kind = formed ? Record::Kind::kSucceeded : Record::Kind::kRefused;
  // Shared, because what a std::function holds must be copyable.
  auto response = std::make_shared<decltype(formed)>(std::move(formed));
  return {kind,
          [&endpoint, custom_id, response = std::move(response)](JsonWriter& writer) {
            const bool has_response = response->has_value();
            writer.BeginObject();
            writer.Member("custom_id", custom_id);
            writer.Key("response");
            writer.BeginObject();
            writer.Member("status_code", has_response ? 200 : response->error().code);
            writer.Key("body");
            if (has_response) {
              response->value()->WriteJson(writer);
            } else {
              writer.Json(endpoint.ErrorToJson(response->error()));
            }
            writer.EndObject();
            writer.Member("error", nullptr);
            writer.EndObject();
          },
          {}};
}

}  // namespace scorecast::coordinator
