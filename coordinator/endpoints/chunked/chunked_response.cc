#include "coordinator/endpoints/chunked/chunked_response.h"

#include <cstdint>
#include <utility>

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// Adds a row of scores for each question. Returns a 500 if a row is not finite.
std::optional<Error> AddScores(const ChunkedReadout& readout,
                               const std::vector<proto::RowLogits>& rows,
                               ChunkedResponse& response) {
  if (!readout.reads_rows) {
    return std::nullopt;
  }
  if (readout.row.scores) {
    response.scores.emplace();
  }
  if (readout.row.token_logprobs) {
    response.token_logprobs.emplace();
  }
  if (readout.row.top_logprobs) {
    response.top_logprobs.emplace();
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::optional<RowScores> scores = ScoresOfRow(rows[i], readout.row);
    if (!scores) {
      return NotFinite(readout.questions[i]);
    }
    if (response.scores) {
      response.scores->push_back(std::move(scores->scores));
    }
    if (response.token_logprobs) {
      response.token_logprobs->push_back(std::move(scores->token_logprobs));
    }
    if (response.top_logprobs) {
      response.top_logprobs->push_back(std::move(scores->top_logprobs));
    }
  }
  return std::nullopt;
}

std::optional<Error> AddOutputs(const ChunkedReadout& readout, ChunkedResponse& response) {
  if (readout.completions.empty()) {
    return std::nullopt;
  }
  response.outputs.emplace();
  for (std::size_t i = 0; i < readout.completions.size(); ++i) {
    const CompletionGenerator& completion = *readout.completions[i];
    if (!completion.is_finite()) {
      return NotFinite(readout.questions[i]);
    }
    response.outputs->push_back(completion.output());
    response.usage.completion_tokens +=
        static_cast<std::int64_t>(completion.output().token_ids.size());
  }
  return std::nullopt;
}

}  // namespace

Expected<std::unique_ptr<EndpointResponse>> ChunkedReadout::Respond(const JobRows& rows) const {
  auto response = std::make_unique<ChunkedResponse>();
  response->seed = seed;
  if (auto fault = AddScores(*this, rows.front(), *response)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = AddOutputs(*this, *response)) {
    return Unexpected(*std::move(fault));
  }
  return std::unique_ptr<EndpointResponse>(std::move(response));
}

}  // namespace scorecast::coordinator
