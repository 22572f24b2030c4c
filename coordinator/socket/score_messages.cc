#include "coordinator/socket/score_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/doors/request_error.h"

namespace scorecast::coordinator {
namespace {

std::vector<TokenId> Ids(const v1::TokenIds& message) {
  return {message.ids().begin(), message.ids().end()};
}

std::optional<TextOrIds> Value(const v1::TextOrIds& message) {
  switch (message.value_case()) {
    case v1::TextOrIds::kText:
      return message.text();
    case v1::TextOrIds::kIds:
      return Ids(message.ids());
    case v1::TextOrIds::VALUE_NOT_SET:
      break;
  }
  return std::nullopt;
}

proto::Unexpected<proto::Error> Missing(const std::string& field) {
  return proto::Unexpected(
      BadRequest("missing_field", field + " must be text or token ids.", field));
}

std::vector<double> Values(const v1::Numbers& message) {
  return {message.values().begin(), message.values().end()};
}

std::vector<std::vector<double>> Rows(
    const google::protobuf::RepeatedPtrField<v1::Numbers>& message) {
  std::vector<std::vector<double>> rows;
  for (const v1::Numbers& row : message) {
    rows.push_back(Values(row));
  }
  return rows;
}

void Assign(const std::vector<double>& from, v1::Numbers& to) {
  to.mutable_values()->Assign(from.begin(), from.end());
}

}  // namespace

proto::Expected<ScoreRequest> ScoreRequestFromMessage(const v1::ScoreRequest& message) {
  ScoreRequest request;
  std::optional<TextOrIds> query = Value(message.query());
  if (!query) {
    return Missing("query");
  }
  request.query = *std::move(query);
  for (int i = 0; i < message.items_size(); ++i) {
    std::optional<TextOrIds> item = Value(message.items(i));
    if (!item) {
      return Missing(At("items", static_cast<std::size_t>(i)));
    }
    request.items.push_back(*std::move(item));
  }
  switch (message.label_token_ids().value_case()) {
    case v1::LabelTokenIds::kForAll:
      request.label_token_ids = Ids(message.label_token_ids().for_all());
      break;
    case v1::LabelTokenIds::kPerItem: {
      std::vector<std::vector<TokenId>> lists;
      for (const v1::TokenIds& list : message.label_token_ids().per_item().lists()) {
        lists.push_back(Ids(list));
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
  if (message.has_timeout_ms()) {
    request.timeout_ms = message.timeout_ms();
  }
  if (message.has_model()) {
    request.model = message.model();
  }
  return request;
}

std::int64_t AnswerBytesBound(const ScoreRequest& request) {
  // A list's and a message's own tag and length; numbers are 8 bytes, an entry is 4 + 5 + 9.
  constexpr std::int64_t kList = 2 * 6;
  constexpr std::int64_t kNumber = 8;
  constexpr std::int64_t kEntry = 18;
  constexpr std::int64_t kRest = 256;
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
  std::int64_t bytes = kRest + items * kList + of_all * kNumber;
  if (request.return_token_logprobs) {
    bytes += (items + 1) * kList + (of_all + of_one) * kNumber;
  }
  // A number out of range is refused later.
  const std::int64_t top = std::clamp<std::int64_t>(request.top_logprobs, 0, kMaxTopLogprobs);
  return bytes + (items + 1) * (kList + top * kEntry);
}

ScoreResponse ScoreResponseFromMessage(const v1::ScoreResponse& message) {
  ScoreResponse response;
  response.model = message.model();
  response.scores = Rows(message.scores());
  if (message.token_logprobs_size() > 0) {
    response.token_logprobs = Rows(message.token_logprobs());
  }
  if (message.has_query_token_logprobs()) {
    response.query_token_logprobs = Values(message.query_token_logprobs());
  }
  if (message.top_logprobs_size() > 0) {
    auto& rows = response.top_logprobs.emplace();
    for (const v1::TokenLogprobs& entries : message.top_logprobs()) {
      auto& row = rows.emplace_back();
      for (const v1::TokenLogprob& entry : entries.entries()) {
        row.emplace_back(entry.id(), entry.logprob());
      }
    }
  }
  response.item_first_ignored = message.item_first_ignored();
  response.usage.prompt_tokens = message.usage().prompt_tokens();
  response.usage.cached_tokens = message.usage().cached_tokens();
  response.timings.queue_ms = message.timings().queue_ms();
  response.timings.tokenize_ms = message.timings().tokenize_ms();
  response.timings.forward_ms = message.timings().forward_ms();
  response.timings.total_ms = message.timings().total_ms();
  return response;
}

void ToMessage(const ScoreResponse& response, v1::ScoreResponse& message) {
  message.set_model(response.model);
  for (const std::vector<double>& scores : response.scores) {
    Assign(scores, *message.add_scores());
  }
  if (response.token_logprobs) {
    for (const std::vector<double>& row : *response.token_logprobs) {
      Assign(row, *message.add_token_logprobs());
    }
  }
  if (response.query_token_logprobs) {
    Assign(*response.query_token_logprobs, *message.mutable_query_token_logprobs());
  }
  if (response.top_logprobs) {
    for (const std::vector<TokenLogprob>& row : *response.top_logprobs) {
      v1::TokenLogprobs& entries = *message.add_top_logprobs();
      for (const auto& [id, logprob] : row) {
        v1::TokenLogprob& entry = *entries.add_entries();
        entry.set_id(id);
        entry.set_logprob(logprob);
      }
    }
  }
  message.set_item_first_ignored(response.item_first_ignored);
  v1::Usage& usage = *message.mutable_usage();
  usage.set_prompt_tokens(response.usage.prompt_tokens);
  usage.set_total_tokens(response.usage.prompt_tokens);
  usage.set_cached_tokens(response.usage.cached_tokens);
  v1::Timings& timings = *message.mutable_timings();
  timings.set_queue_ms(response.timings.queue_ms);
  timings.set_tokenize_ms(response.timings.tokenize_ms);
  timings.set_forward_ms(response.timings.forward_ms);
  timings.set_total_ms(response.timings.total_ms);
}

void ToMessage(const proto::Error& error, v1::Error& message) {
  message.set_code(error.code);
  message.set_reason(error.reason);
  message.set_message(error.message);
  message.set_param(error.param);
  if (error.retry_after_seconds) {
    message.set_retry_after_seconds(*error.retry_after_seconds);
  }
}

}  // namespace scorecast::coordinator
