#include "coordinator/endpoints/score/score_json.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_fields.h"
#include "coordinator/endpoints/score/score_response.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/json/response_json.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

/// [items][labels], or [items][occurrences][labels] if `occurrences` are given.
void WriteItems(const std::vector<std::vector<double>>& rows,
                const std::optional<std::vector<std::int64_t>>& occurrences, JsonWriter& writer) {
  if (!occurrences) {
    return WriteRows(rows, writer);
  }
  writer.BeginList();
  auto row = rows.begin();
  for (const std::int64_t count : *occurrences) {
    writer.BeginList();
    for (std::int64_t i = 0; i < count; ++i) {
      writer.Value(*row++);
    }
    writer.EndList();
  }
  writer.EndList();
}

}  // namespace

Expected<ScoreRequest> ScoreRequestFromJson(const nlohmann::json& body) {
  BodyReader reader(body, kScoreFields);
  ScoreRequest request;
  request.query = reader.RequiredTextOrIds("query");
  request.items = reader.OneOrMoreTextOrIds("items").value_or(request.items);
  request.label_token_ids = reader.Labels("label_token_ids");
  request.labels = reader.Strings("labels");
  request.apply_softmax = reader.Bool("apply_softmax", request.apply_softmax);
  request.activation = reader.String("activation");
  request.item_first = reader.Bool("item_first", request.item_first);
  request.temperature = reader.Number("temperature", request.temperature);
  request.return_token_logprobs =
      reader.Bool("return_token_logprobs", request.return_token_logprobs);
  request.top_logprobs = reader.Integer("top_logprobs").value_or(request.top_logprobs);
  request.score_extraction_token = reader.OptionalTextOrId("score_extraction_token");
  request.max_new_tokens = reader.Integer("max_new_tokens").value_or(request.max_new_tokens);
  reader.ReadOptions(request);
  reader.ReadPriority(request);
  if (reader.error()) {
    return Unexpected(*std::move(reader.error()));
  }
  return request;
}

void ScoreResponse::WriteJson(JsonWriter& writer) const {
  writer.BeginObject();
  writer.Member("object", "scoring");
  writer.Key("scores");
  WriteItems(scores, occurrences, writer);
  writer.Member("model", model);
  writer.Member("usage", UsageToJson(usage));
  if (token_logprobs) {
    writer.Key("token_logprobs");
    WriteItems(*token_logprobs, occurrences, writer);
  }
  if (query_token_logprobs) {
    writer.Member("query_token_logprobs", *query_token_logprobs);
  }
  if (top_logprobs) {
    writer.Key("top_logprobs");
    WriteTopLogprobs(*top_logprobs, writer);
  }
  if (item_first_ignored) {
    writer.Member("item_first_ignored", true);
  }
  writer.Member("timings", TimingsToJson(timings));
  writer.EndObject();
}

}  // namespace scorecast::coordinator
