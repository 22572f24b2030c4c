#include "coordinator/endpoints/score/score_messages.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/value_messages.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

proto::Expected<ScoreRequest> ScoreRequestFromMessage(const v1::ScoreRequest& message) {
  ScoreRequest request;
  std::optional<TextOrIds> query = ValueOf(message.query());
  if (!query) {
    return proto::Unexpected(MissingValue("query"));
  }
  request.query = *std::move(query);
  proto::Expected<std::vector<TextOrIds>> items = ValuesOf(message.items(), "items");
  if (!items) {
    return proto::Unexpected(std::move(items).error());
  }
  request.items = *std::move(items);
  switch (message.label_token_ids().value_case()) {
    case v1::LabelTokenIds::kForAll:
      request.label_token_ids = IdsOf(message.label_token_ids().for_all());
      break;
    case v1::LabelTokenIds::kPerItem: {
      std::vector<std::vector<TokenId>> lists;
      for (const v1::TokenIds& list : message.label_token_ids().per_item().lists()) {
        lists.push_back(IdsOf(list));
      }
      request.label_token_ids = std::move(lists);
      break;
    }
    case v1::LabelTokenIds::VALUE_NOT_SET:
      break;
  }
  if (message.labels_size() > 0) {
    request.labels.emplace(message.labels().begin(), message.labels().end());
  }
  request.apply_softmax = message.apply_softmax();
  if (message.has_activation()) {
    request.activation = message.activation();
  }
  request.item_first = message.item_first();
  request.temperature = message.has_temperature() ? message.temperature() : 1.0;
  request.return_token_logprobs = message.return_token_logprobs();
  request.top_logprobs = message.top_logprobs();
  request.max_new_tokens = message.max_new_tokens();
  if (message.has_score_extraction_token()) {
    request.score_extraction_token = ValueOf(message.score_extraction_token());
    if (!request.score_extraction_token) {
      return proto::Unexpected(MissingValue("score_extraction_token"));
    }
  }
  ReadOptions(message, request);
  return request;
}

}  // namespace scorecast::coordinator
