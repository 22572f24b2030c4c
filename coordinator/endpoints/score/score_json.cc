#include "coordinator/endpoints/score/score_json.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_fields.h"
#include "coordinator/json/body_reader.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

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

}  // namespace scorecast::coordinator
