#include "coordinator/json/response_json.h"

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {

OrderedJson UsageToJson(const Usage& usage) {
  OrderedJson json;
  json["prompt_tokens"] = usage.prompt_tokens;
  json["total_tokens"] = usage.total_tokens();
  json["completion_tokens"] = usage.completion_tokens;
  json["cached_tokens"] = usage.cached_tokens;
  return json;
}

OrderedJson TimingsToJson(const Timings& timings) {
  OrderedJson json;
  json["queue_ms"] = timings.queue_ms;
  json["tokenize_ms"] = timings.tokenize_ms;
  json["forward_ms"] = timings.forward_ms;
  json["total_ms"] = timings.total_ms;
  return json;
}

void WriteRows(const std::vector<std::vector<double>>& rows, JsonWriter& writer) {
  writer.BeginList();
  for (const std::vector<double>& row : rows) {
    writer.Value(row);
  }
  writer.EndList();
}

void WriteTopLogprobs(const std::vector<std::vector<TokenLogprob>>& rows, JsonWriter& writer) {
  writer.BeginList();
  for (const std::vector<TokenLogprob>& row : rows) {
    OrderedJson json_row = OrderedJson::array();
    for (const auto& [id, logprob] : row) {
      json_row.push_back(OrderedJson::array({id, logprob}));
    }
    writer.Value(json_row);
  }
  writer.EndList();
}

}  // namespace scorecast::coordinator
