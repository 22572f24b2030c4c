#include "coordinator/endpoints/chunked/chunked_messages.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/value_messages.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

/// Empty if the field is absent.
Expected<std::optional<TextOrIds>> OptionalValue(bool is_there, const v1::TextOrIds& message,
                                                 const std::string& field) {
  if (!is_there) {
    return std::optional<TextOrIds>();
  }
  std::optional<TextOrIds> value = ValueOf(message);
  if (!value) {
    return Unexpected(MissingValue(field));
  }
  return value;
}

/// Empty if the list is empty, because a message cannot tell an empty list from an absent one.
Expected<std::optional<std::vector<TextOrIds>>> OptionalValues(
    const google::protobuf::RepeatedPtrField<v1::TextOrIds>& messages, const std::string& field) {
  Expected<std::vector<TextOrIds>> values = ValuesOf(messages, field);
  if (!values) {
    return Unexpected(std::move(values).error());
  }
  return values->empty() ? std::nullopt : std::optional(*std::move(values));
}

std::optional<proto::Error> ReadPrompt(const v1::ChunkedRequest& message, ChunkedRequest& request) {
  auto system_prompt =
      OptionalValue(message.has_system_prompt(), message.system_prompt(), "system_prompt");
  if (!system_prompt) {
    return std::move(system_prompt).error();
  }
  auto chunks = OptionalValues(message.chunks(), "chunks");
  if (!chunks) {
    return std::move(chunks).error();
  }
  auto question = OptionalValue(message.has_question(), message.question(), "question");
  if (!question) {
    return std::move(question).error();
  }
  auto questions = OptionalValues(message.questions(), "questions");
  if (!questions) {
    return std::move(questions).error();
  }
  request.system_prompt = *std::move(system_prompt);
  request.chunks = *std::move(chunks);
  request.question = *std::move(question);
  request.questions = *std::move(questions);
  if (message.chunk_groups_size() > 0) {
    request.chunk_groups.emplace(message.chunk_groups().begin(), message.chunk_groups().end());
  }
  if (message.has_prompt()) {
    request.prompt = message.prompt();
  }
  if (message.has_chunk_position_strategy()) {
    request.chunk_position_strategy = message.chunk_position_strategy();
  }
  request.chunk_temperature = message.has_chunk_temperature() ? message.chunk_temperature() : 1.0;
  request.chunk_scale = message.has_chunk_scale() ? message.chunk_scale() : 1.0;
  return std::nullopt;
}

void ReadScoring(const v1::ChunkedRequest& message, ChunkedRequest& request) {
  if (message.has_label_token_ids()) {
    request.label_token_ids = IdsOf(message.label_token_ids());
  }
  if (message.labels_size() > 0) {
    request.labels.emplace(message.labels().begin(), message.labels().end());
  }
  request.apply_softmax = message.apply_softmax();
  if (message.has_activation()) {
    request.activation = message.activation();
  }
  request.label_temperature = message.has_label_temperature() ? message.label_temperature() : 1.0;
  request.return_token_logprobs = message.return_token_logprobs();
  request.top_logprobs = message.top_logprobs();
}

void ReadGeneration(const v1::ChunkedRequest& message, ChunkedRequest& request) {
  request.max_new_tokens = message.max_new_tokens();
  request.sampling.temperature = message.temperature();
  request.sampling.top_p = message.has_top_p() ? message.top_p() : 1.0;
  request.sampling.top_k = message.top_k();
  if (message.has_seed()) {
    request.sampling.seed = message.seed();
  }
  request.stop.assign(message.stop().begin(), message.stop().end());
  request.stop_token_ids.assign(message.stop_token_ids().begin(), message.stop_token_ids().end());
  request.ignore_eos = message.ignore_eos();
  request.stream = message.stream();
}

}  // namespace

Expected<ChunkedRequest> ChunkedRequestFromMessage(const v1::ChunkedRequest& message) {
  ChunkedRequest request;
  if (auto fault = ReadPrompt(message, request)) {
    return Unexpected(*std::move(fault));
  }
  ReadScoring(message, request);
  ReadGeneration(message, request);
  ReadOptions(message, request);
  return request;
}

}  // namespace scorecast::coordinator
