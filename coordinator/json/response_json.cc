#include "coordinator/json/response_json.h"

namespace scorecast::coordinator {

JsonAnswerBody UsageToJson(const Usage& usage) {
  JsonAnswerBody json;
  json["prompt_tokens"] = usage.prompt_tokens;
  json["total_tokens"] = usage.total_tokens();
  json["completion_tokens"] = usage.completion_tokens;
  json["cached_tokens"] = usage.cached_tokens;
  return json;
}

JsonAnswerBody TimingsToJson(const Timings& timings) {
  JsonAnswerBody json;
  json["queue_ms"] = timings.queue_ms;
  json["tokenize_ms"] = timings.tokenize_ms;
  json["forward_ms"] = timings.forward_ms;
  json["total_ms"] = timings.total_ms;
  return json;
}

JsonAnswerBody TopLogprobsToJson(const std::vector<std::vector<TokenLogprob>>& rows) {
  JsonAnswerBody json = JsonAnswerBody::array();
  for (const std::vector<TokenLogprob>& row : rows) {
    JsonAnswerBody& json_row = json.emplace_back(JsonAnswerBody::array());
    for (const auto& [id, logprob] : row) {
      json_row.push_back(JsonAnswerBody::array({id, logprob}));
    }
  }
  return json;
}

}  // namespace scorecast::coordinator
