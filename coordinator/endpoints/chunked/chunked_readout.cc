#include "coordinator/endpoints/chunked/chunked_readout.h"

#include <utility>

#include "coordinator/endpoints/row_messages.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// Adds a row of scores for each question. Returns a 500 if a row is not finite.
std::optional<Error> AddScores(const ChunkedReadout& readout,
                               const std::vector<proto::RowLogits>& rows,
                               v1::ChunkedResponse& response) {
  if (!readout.reads_rows) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!AddRow(rows[i], readout.row, response)) {
      return NotFinite(readout.questions[i]);
    }
  }
  return std::nullopt;
}

std::optional<Error> AddOutputs(const ChunkedReadout& readout, v1::ChunkedResponse& response) {
  const Expected<std::vector<const CompletionOutput*>> outputs = readout.completions.Outputs();
  if (!outputs) {
    return outputs.error();
  }
  for (const CompletionOutput* output : *outputs) {
    v1::ChunkedOutput& message = *response.add_outputs();
    message.set_text(output->text);
    message.mutable_token_ids()->Assign(output->token_ids.begin(), output->token_ids.end());
    message.set_finish_reason(Name(output->finish_reason));
  }
  response.mutable_usage()->set_completion_tokens(readout.completions.num_tokens());
  return std::nullopt;
}

}  // namespace

Expected<std::unique_ptr<EndpointResponse>> ChunkedReadout::Respond(const JobRows& rows) {
  auto response = std::make_unique<v1::ChunkedResponse>();
  if (seed) {
    response->set_seed(*seed);
  }
  if (auto fault = AddScores(*this, rows.front(), *response)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = AddOutputs(*this, *response)) {
    return Unexpected(*std::move(fault));
  }
  return std::make_unique<EndpointResponse>(std::move(response));
}

}  // namespace scorecast::coordinator
