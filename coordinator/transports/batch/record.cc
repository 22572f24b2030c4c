#include "coordinator/transports/batch/record.h"

#include <functional>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"

namespace scorecast::coordinator {
namespace {

constexpr int kSucceededStatus = 200;

bool IsStateOfServer(int code) { return code == 429 || code == 499 || code == 503; }

void WriteRecord(JsonWriter& writer, const std::string& custom_id, int status,
                 const std::function<void()>& write_body) {
  writer.BeginObject();
  writer.Member("custom_id", custom_id);
  writer.Key("response");
  writer.BeginObject();
  writer.Member("status_code", status);
  writer.Key("body");
  write_body();
  writer.EndObject();
  writer.Member("error", nullptr);
  writer.EndObject();
}

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

Record FormedRecord(const std::string& custom_id, int status, std::string body) {
  return {status == kSucceededStatus ? Record::Kind::kSucceeded : Record::Kind::kRefused,
          [custom_id, status, body = std::move(body)](JsonWriter& writer) {
            WriteRecord(writer, custom_id, status, [&] { writer.Json(body); });
          },
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
            WriteRecord(writer, custom_id, has_response ? kSucceededStatus : response->error().code,
                        [&] {
                          if (has_response) {
                            response->value()->WriteJson(writer);
                          } else {
                            writer.Json(endpoint.ErrorToJson(response->error()));
                          }
                        });
          },
          {}};
}

}  // namespace scorecast::coordinator
