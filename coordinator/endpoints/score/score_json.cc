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
OrderedJson RowsToJson(const std::vector<std::vector<double>>& rows,
                       const std::optional<std::vector<std::int64_t>>& occurrences) {
  if (!occurrences) {
    return rows;
  }
  OrderedJson items = OrderedJson::array();
  auto row = rows.begin();
  for (const std::int64_t count : *occurrences) {
    OrderedJson item = OrderedJson::array();
    for (std::int64_t i = 0; i < count; ++i) {
      item.push_back(*row++);
    }
    items.push_back(std::move(item));
  }
  return items;
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

OrderedJson ScoreResponse::ToJson() const {
  OrderedJson body;
  body["object"] = "scoring";
  body["scores"] = RowsToJson(scores, occurrences);
  body["model"] = model;
  body["usage"] = UsageToJson(usage);
  if (token_logprobs) {
    body["token_logprobs"] = RowsToJson(*token_logprobs, occurrences);
  }
  if (query_token_logprobs) {
    body["query_token_logprobs"] = *query_token_logprobs;
  }
  if (top_logprobs) {
    body["top_logprobs"] = TopLogprobsToJson(*top_logprobs);
  }
  if (item_first_ignored) {
    body["item_first_ignored"] = true;
  }
  body["timings"] = TimingsToJson(timings);
  return body;
}

}  // namespace scorecast::coordinator
