#include "coordinator/endpoints/score/score_readout.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/endpoints/row_messages.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::RowLogits;
using proto::Unexpected;

/// False if a number of the row is not finite.
bool AddItemRow(const RowLogits& row, const ScoreReadout& readout, v1::ScoreResponse& response) {
  const std::optional<RowScores> scores = ScoresOfRow(row, readout.row);
  if (!scores) {
    return false;
  }
  AddRow(*scores, readout.row, response);
  return true;
}

/// The same. The query's row is added before those of the items.
bool AddQueryRow(const RowLogits& row, const ScoreReadout& readout, v1::ScoreResponse& response) {
  RowReadout of_query = readout.row;
  of_query.scores = false;
  of_query.token_logprobs = readout.query_token_logprobs;
  const std::optional<RowScores> scores = ScoresOfRow(row, of_query);
  if (!scores) {
    return false;
  }
  if (readout.query_token_logprobs) {
    SetNumbers(scores->token_logprobs, *response.mutable_query_token_logprobs());
  }
  of_query.token_logprobs = false;
  AddRow(*scores, of_query, response);
  return true;
}

std::unique_ptr<EndpointResponse> ToResponse(std::unique_ptr<v1::ScoreResponse> message,
                                             const RowReadout& row) {
  auto response = std::make_unique<EndpointResponse>(std::move(message));
  // Without items, these lists are empty.
  if (row.token_logprobs) {
    response->KeepIfEmpty(v1::ScoreResponse::kTokenLogprobsFieldNumber);
  }
  if (row.top_logprobs) {
    response->KeepIfEmpty(v1::ScoreResponse::kTopLogprobsFieldNumber);
  }
  return response;
}

}  // namespace

Expected<std::unique_ptr<EndpointResponse>> ScoreReadout::Respond(const JobRows& rows) {
  std::vector<const RowLogits*> read;
  for (const std::vector<RowLogits>& sequence : rows) {
    for (const RowLogits& logits : sequence) {
      read.push_back(&logits);
    }
  }
  const std::size_t query_rows = query_row ? 1 : 0;
  const auto rows_of = [&](std::size_t item) {
    return occurrences ? static_cast<std::size_t>((*occurrences)[item]) : 1;
  };
  auto message = std::make_unique<v1::ScoreResponse>();
  message->set_item_first_ignored(item_first_ignored);
  if (occurrences) {
    message->mutable_occurrences()->Assign(occurrences->begin(), occurrences->end());
  }
  if (query_row && !AddQueryRow(*read.front(), *this, *message)) {
    return Unexpected(NotFinite("query"));
  }
  for (std::size_t item = 0; item < item_rows.size(); ++item) {
    for (std::size_t i = 0; i < rows_of(item); ++i) {
      if (!AddItemRow(*read.at(query_rows + item_rows[item] + i), *this, *message)) {
        return Unexpected(NotFinite(At("items", item)));
      }
    }
  }
  return ToResponse(std::move(message), row);
}

}  // namespace scorecast::coordinator
