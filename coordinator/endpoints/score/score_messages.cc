#include "coordinator/endpoints/score/score_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/value_messages.h"

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
  request.item_first = message.item_first();
  request.temperature = message.has_temperature() ? message.temperature() : 1.0;
  request.return_token_logprobs = message.return_token_logprobs();
  request.top_logprobs = message.top_logprobs();
  request.max_new_tokens = message.max_new_tokens();
  ReadOptions(message, request);
  return request;
}

std::int64_t AnswerBytesBound(const ScoreRequest& request) {
  const auto items = static_cast<std::int64_t>(request.items.size());
  std::int64_t of_one = 0;  // The query's row has the first item's labels.
  std::int64_t of_all = 0;
  if (const auto* lists = request.label_token_ids ? std::get_if<std::vector<std::vector<TokenId>>>(
                                                        &*request.label_token_ids)
                                                  : nullptr) {
    for (const std::vector<TokenId>& list : *lists) {
      of_one = std::max(of_one, static_cast<std::int64_t>(list.size()));
      of_all += static_cast<std::int64_t>(list.size());
    }
  } else {
    if (request.label_token_ids) {
      of_one = static_cast<std::int64_t>(
          std::get<std::vector<TokenId>>(*request.label_token_ids).size());
    } else if (request.labels) {
      of_one = static_cast<std::int64_t>(request.labels->size());
    }
    of_all = items * of_one;
  }
  std::int64_t bytes = kOtherBytes + items * kListBytes + of_all * kNumberBytes;
  if (request.return_token_logprobs) {
    bytes += (items + 1) * kListBytes + (of_all + of_one) * kNumberBytes;
  }
  return bytes + (items + 1) * TopRowBytes(request.top_logprobs);
}

ScoreResponse ScoreResponseFromMessage(const v1::ScoreResponse& message) {
  ScoreResponse response;
  response.model = message.model();
  response.scores = RowsOf(message.scores());
  if (message.token_logprobs_size() > 0) {
    response.token_logprobs = RowsOf(message.token_logprobs());
  }
  if (message.has_query_token_logprobs()) {
    response.query_token_logprobs = NumbersOf(message.query_token_logprobs());
  }
  if (message.top_logprobs_size() > 0) {
    response.top_logprobs = TopLogprobsOf(message.top_logprobs());
  }
  response.item_first_ignored = message.item_first_ignored();
  response.usage = UsageOf(message.usage());
  response.timings = TimingsOf(message.timings());
  return response;
}

void ToMessage(const ScoreResponse& response, v1::ScoreResponse& message) {
  message.set_model(response.model);
  ToMessages(response.scores, *message.mutable_scores());
  if (response.token_logprobs) {
    ToMessages(*response.token_logprobs, *message.mutable_token_logprobs());
  }
  if (response.query_token_logprobs) {
    ToMessage(*response.query_token_logprobs, *message.mutable_query_token_logprobs());
  }
  if (response.top_logprobs) {
    ToMessages(*response.top_logprobs, *message.mutable_top_logprobs());
  }
  message.set_item_first_ignored(response.item_first_ignored);
  ToMessage(response.usage, *message.mutable_usage());
  ToMessage(response.timings, *message.mutable_timings());
}

}  // namespace scorecast::coordinator
