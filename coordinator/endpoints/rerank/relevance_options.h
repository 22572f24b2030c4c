#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/message_request.h"
#include "coordinator/endpoints/truncation.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// What a score is.
enum class ScoreScale {
  kModel,    ///< What the model's own formula gives.
  kRaw,      ///< A logit, or a difference of two.
  kSigmoid,  ///< The sigmoid of it, whatever the formula is.
};

/// How documents are scored against a query: the fields that are described as v1::RelevanceOptions.
struct RelevanceOptions {
  std::optional<std::string> instruction;
  std::int64_t max_tokens_per_doc = 0;
  std::int64_t truncate_prompt_tokens = 0;
  bool truncate = false;
  std::string truncate_field = "truncate";          ///< The client's name of it.
  std::optional<std::string> truncation_direction;  ///< See SideOf.
  std::optional<std::string> truncation_strategy;
  std::int64_t max_tokens_per_query = 0;
  ScoreScale scale = ScoreScale::kModel;
};

/// Sets how documents are cut, as CutsDocuments reads a `truncate` that the client gave as
/// `options.truncate_field`; or returns its fault.
inline std::optional<proto::Error> SetTruncate(const std::string& truncate,
                                               RelevanceOptions& options) {
  proto::Expected<bool> cuts = CutsDocuments(truncate, options.truncate_field);
  if (!cuts) {
    return std::move(cuts).error();
  }
  options.truncate = *cuts;
  options.truncation_direction = *cuts ? std::optional<std::string>("right") : std::nullopt;
  return std::nullopt;
}

/// Those of a request that is like v1::RelevanceOptions, or the fault of its `truncate`.
template <typename Message>
proto::Expected<RelevanceOptions> RelevanceOf(const MessageRequest<Message>& request) {
  const Message& message = request.message;
  RelevanceOptions options;
  if (message.has_instruction()) {
    options.instruction = message.instruction();
  }
  options.max_tokens_per_doc = message.max_tokens_per_doc();
  options.truncate_prompt_tokens = message.truncate_prompt_tokens();
  options.truncate = message.truncate();
  options.truncate_field = request.NameOf(Message::kTruncateFieldNumber);
  if (message.has_truncation_direction()) {
    options.truncation_direction = message.truncation_direction();
  }
  if (request.IsStringOf(Message::kTruncateFieldNumber, Message::kTruncationDirectionFieldNumber)) {
    if (auto fault = SetTruncate(message.truncation_direction(), options)) {
      return proto::Unexpected(*std::move(fault));
    }
  }
  if (message.has_truncation_strategy()) {
    options.truncation_strategy = message.truncation_strategy();
  }
  options.max_tokens_per_query = message.max_tokens_per_query();
  options.scale = message.raw_scores() ? ScoreScale::kRaw : ScoreScale::kModel;
  return options;
}

/// The texts of a request, which are moved.
template <typename Texts>
std::vector<std::string> TextsOf(Texts& texts) {
  return {std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end())};
}

}  // namespace scorecast::coordinator
