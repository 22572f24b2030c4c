#include "coordinator/endpoints/score/score_json.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_response.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/json/response_json.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;
using proto::Expected;
using proto::Unexpected;

void RefuseUnsupported(const json& body, BodyReader& reader) {
  for (const auto& [name, value] : body.items()) {
    const std::string_view key = name;
    constexpr std::string_view kOverrides = "_embed_overrides";
    const bool overrides = key.ends_with(kOverrides);
    const bool unset = value.is_null() || (value.is_boolean() && !value.get<bool>());
    const bool is_pooled = key == "return_pooled_hidden_states";
    if (((overrides || is_pooled) && !unset) ||
        (key == "score_extraction_token" && !value.is_null())) {
      reader.Fail(BadRequest("not_supported", name + " is not supported by this server.", name));
    }
  }
}

std::vector<TextOrIds> Items(const json& body, BodyReader& reader) {
  const std::string field = "items";
  if (!reader.Has(field)) {
    reader.Fail(BadRequest("missing_field", "items must be provided.", field));
    return {};
  }
  if (body[field].is_string()) {
    return {*reader.OptionalTextOrIds(field)};
  }
  if (!body[field].is_array()) {
    reader.Fail(WrongType(field, "a string, or a list of strings or of lists of token ids"));
    return {};
  }
  return *reader.TextOrIdsList(field);
}

}  // namespace

Expected<ScoreRequest> ScoreRequestFromJson(const json& body) {
  BodyReader reader(body);
  if (reader.error()) {
    return Unexpected(*std::move(reader.error()));
  }
  RefuseUnsupported(body, reader);
  ScoreRequest request;
  request.query = reader.RequiredTextOrIds("query");
  request.items = Items(body, reader);
  request.label_token_ids = reader.Labels("label_token_ids");
  request.labels = reader.Strings("labels");
  request.apply_softmax = reader.Bool("apply_softmax", request.apply_softmax);
  request.activation = reader.String("activation");
  request.item_first = reader.Bool("item_first", request.item_first);
  request.temperature = reader.Number("temperature", request.temperature);
  request.return_token_logprobs =
      reader.Bool("return_token_logprobs", request.return_token_logprobs);
  request.top_logprobs = reader.Integer("top_logprobs").value_or(request.top_logprobs);
  request.max_new_tokens = reader.Integer("max_new_tokens").value_or(request.max_new_tokens);
  reader.ReadOptions(request);
  if (reader.error()) {
    return Unexpected(*std::move(reader.error()));
  }
  return request;
}

OrderedJson ScoreResponse::ToJson() const {
  OrderedJson body;
  body["object"] = "scoring";
  body["scores"] = scores;
  body["model"] = model;
  body["usage"] = UsageToJson(usage);
  if (token_logprobs) {
    body["token_logprobs"] = *token_logprobs;
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
