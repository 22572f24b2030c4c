#include "coordinator/endpoints/chunked/chunked_checks.h"

#include <array>
#include <string>
#include <utility>

#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;

/// A request must have exactly one form of prompt: `prompt`, or parts with a question.
std::optional<Error> FormFault(const ChunkedRequest& request) {
  const v1::ChunkedRequest& message = request.message;
  const bool has_questions = HasList(request, v1::ChunkedRequest::kQuestionsFieldNumber);
  if (!message.has_prompt()) {
    if (message.has_question() && has_questions) {
      return BadRequest("question_given_twice", "Only one of question and questions may be given.",
                        "questions");
    }
    if (!message.has_question() && !has_questions) {
      return BadRequest("missing_field", "question must be provided.", "question");
    }
    return std::nullopt;
  }
  const std::array<std::pair<const char*, bool>, 4> parts = {
      {{"system_prompt", message.has_system_prompt()},
       {"chunks", HasList(request, v1::ChunkedRequest::kChunksFieldNumber)},
       {"question", message.has_question()},
       {"questions", has_questions}}};
  for (const auto& [field, is_given] : parts) {
    if (is_given) {
      return BadRequest("prompt_given_twice",
                        "prompt replaces system_prompt, chunks and question: " +
                            std::string(field) + " must not be given as well.",
                        field);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> ChunkedFieldFault(const ChunkedRequest& own, const GenerationFields& fields,
                                       ScoreKind kind, const RequestContext& context) {
  const v1::ChunkedRequest& request = own.message;
  if (auto fault = FormFault(own)) {
    return fault;
  }
  if (auto fault = WeightingFault(fields)) {
    return fault;
  }
  if (auto fault =
          SoftmaxTemperatureFault(request.label_temperature(), kind, "label_temperature")) {
    return fault;
  }
  if (auto fault =
          LogprobsFault(request.return_token_logprobs(), request.top_logprobs(), context.config)) {
    return fault;
  }
  if (auto fault = OptionsFault(own)) {
    return fault;
  }
  return GenerationFault(fields, /*least_tokens=*/0, context);
}

}  // namespace scorecast::coordinator
