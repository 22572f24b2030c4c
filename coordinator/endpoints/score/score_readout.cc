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

/// Adds the query's row before those of the items. False if a number of it is not finite.
bool AddQueryRow(const RowLogits& row, const ScoreReadout& readout, v1::ScoreResponse& response) {
  if (readout.query_token_logprobs) {
    const auto logprobs = LogprobsOfRow(row);
    if (!logprobs) {
      return false;
    }
    SetNumbers(*logprobs, *response.mutable_query_token_logprobs());
  }
  RowReadout of_query = readout.row;
  of_query.scores = false;
  of_query.token_logprobs = false;
  return AddRow(row, of_query, response);
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
      if (!AddRow(*read.at(query_rows + item_rows[item] + i), row, *message)) {
        return Unexpected(NotFinite(At("items", item)));
      }
    }
  }
  return ToResponse(std::move(message), row);
}

}  // namespace scorecast::coordinator
