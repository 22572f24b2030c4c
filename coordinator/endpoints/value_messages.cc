#include "coordinator/endpoints/value_messages.h"

#include <cstddef>
#include <utility>

#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {

std::vector<TokenId> IdsOf(const v1::TokenIds& message) {
  return {message.ids().begin(), message.ids().end()};
}

std::optional<TextOrIds> ValueOf(const v1::TextOrIds& message) {
  switch (message.value_case()) {
    case v1::TextOrIds::kText:
      return message.text();
    case v1::TextOrIds::kIds:
      return IdsOf(message.ids());
    case v1::TextOrIds::VALUE_NOT_SET:
      break;
  }
  return std::nullopt;
}

std::optional<TextOrId> ValueOf(const v1::TextOrId& message) {
  switch (message.value_case()) {
    case v1::TextOrId::kText:
      return message.text();
    case v1::TextOrId::kId:
      return message.id();
    case v1::TextOrId::VALUE_NOT_SET:
      break;
  }
  return std::nullopt;
}

proto::Expected<std::vector<TextOrIds>> ValuesOf(
    const google::protobuf::RepeatedPtrField<v1::TextOrIds>& messages, const std::string& field) {
  std::vector<TextOrIds> values;
  for (const v1::TextOrIds& message : messages) {
    std::optional<TextOrIds> value = ValueOf(message);
    if (!value) {
      return proto::Unexpected(MissingValue(At(field, values.size())));
    }
    values.push_back(*std::move(value));
  }
  return values;
}

proto::Error MissingValue(const std::string& field) {
  return BadRequest("missing_field", field + " must be text or token ids.", field);
}

std::vector<double> NumbersOf(const v1::Numbers& message) {
  return {message.values().begin(), message.values().end()};
}

std::vector<std::vector<double>> RowsOf(
    const google::protobuf::RepeatedPtrField<v1::Numbers>& messages) {
  std::vector<std::vector<double>> rows;
  for (const v1::Numbers& row : messages) {
    rows.push_back(NumbersOf(row));
  }
  return rows;
}

std::vector<std::vector<TokenLogprob>> TopLogprobsOf(
    const google::protobuf::RepeatedPtrField<v1::TokenLogprobs>& messages) {
  std::vector<std::vector<TokenLogprob>> rows;
  for (const v1::TokenLogprobs& entries : messages) {
    auto& row = rows.emplace_back();
    for (const v1::TokenLogprob& entry : entries.entries()) {
      row.emplace_back(entry.id(), entry.logprob());
    }
  }
  return rows;
}

Usage UsageOf(const v1::Usage& message) {
  return {.prompt_tokens = message.prompt_tokens(),
          .completion_tokens = message.completion_tokens(),
          .cached_tokens = message.cached_tokens()};
}

Timings TimingsOf(const v1::Timings& message) {
  return {.queue_ms = message.queue_ms(),
          .tokenize_ms = message.tokenize_ms(),
          .forward_ms = message.forward_ms(),
          .total_ms = message.total_ms()};
}

void ToMessage(const std::vector<double>& numbers, v1::Numbers& message) {
  message.mutable_values()->Assign(numbers.begin(), numbers.end());
}

void ToMessages(const std::vector<std::vector<double>>& rows,
                google::protobuf::RepeatedPtrField<v1::Numbers>& messages) {
  for (const std::vector<double>& row : rows) {
    ToMessage(row, *messages.Add());
  }
}

void ToMessages(const std::vector<std::vector<TokenLogprob>>& rows,
                google::protobuf::RepeatedPtrField<v1::TokenLogprobs>& messages) {
  for (const std::vector<TokenLogprob>& row : rows) {
    v1::TokenLogprobs& entries = *messages.Add();
    for (const auto& [id, logprob] : row) {
      v1::TokenLogprob& entry = *entries.add_entries();
      entry.set_id(id);
      entry.set_logprob(logprob);
    }
  }
}

void ToMessage(const Usage& usage, v1::Usage& message) {
  message.set_prompt_tokens(usage.prompt_tokens);
  message.set_total_tokens(usage.total_tokens());
  message.set_completion_tokens(usage.completion_tokens);
  message.set_cached_tokens(usage.cached_tokens);
}

void ToMessage(const Timings& timings, v1::Timings& message) {
  message.set_queue_ms(timings.queue_ms);
  message.set_tokenize_ms(timings.tokenize_ms);
  message.set_forward_ms(timings.forward_ms);
  message.set_total_ms(timings.total_ms);
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
