#include "coordinator/endpoints/score/score_response.h"

#include <cstddef>
#include <string>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::RowLogits;
using proto::Unexpected;

/// Builds the response from the rows, which are added in order.
class ResponseBuilder {
 public:
  explicit ResponseBuilder(const ScoreReadout& readout) : readout_(readout) {
    response_.model = readout.model;
    response_.usage = readout.usage;
    response_.item_first_ignored = readout.item_first_ignored;
    if (readout.row.token_logprobs) {
      response_.token_logprobs.emplace();
    }
    if (readout.row.top_logprobs) {
      response_.top_logprobs.emplace();
    }
  }

  /// False if a number of the row is not finite.
  bool AddQueryRow(const RowLogits& row) {
    RowReadout readout = readout_.row;
    readout.scores = false;
    readout.token_logprobs = readout_.query_token_logprobs;
    std::optional<RowScores> scores = ScoresOfRow(row, readout);
    if (!scores) {
      return false;
    }
    AddTop(*scores);
    if (readout_.query_token_logprobs) {
      response_.query_token_logprobs = std::move(scores->token_logprobs);
    }
    return true;
  }

  /// False if a number of the row is not finite.
  bool AddItemRow(const RowLogits& row) {
    std::optional<RowScores> scores = ScoresOfRow(row, readout_.row);
    if (!scores) {
      return false;
    }
    AddTop(*scores);
    response_.scores.push_back(std::move(scores->scores));
    if (readout_.row.token_logprobs) {
      response_.token_logprobs->push_back(std::move(scores->token_logprobs));
    }
    return true;
  }

  std::size_t num_items() const { return response_.scores.size(); }
  ScoreResponse Take() && { return std::move(response_); }

 private:
  void AddTop(RowScores& scores) {
    if (readout_.row.top_logprobs) {
      response_.top_logprobs->push_back(std::move(scores.top_logprobs));
    }
  }

  const ScoreReadout& readout_;
  ScoreResponse response_;
};

}  // namespace

Expected<ScoreResponse> ScoresFromRows(const ScoreReadout& readout, const JobRows& rows) {
  ResponseBuilder builder(readout);
  bool query_row = readout.query_row && readout.num_items > 0;
  for (const std::vector<RowLogits>& sequence : rows) {
    for (const RowLogits& row : sequence) {
      if (query_row) {
        query_row = false;
        if (!builder.AddQueryRow(row)) {
          return Unexpected(NotFinite("query"));
        }
        continue;
      }
      const std::size_t item = builder.num_items();
      if (!builder.AddItemRow(row)) {
        return Unexpected(NotFinite(At("items", item)));
      }
    }
  }
  proto::Check(builder.num_items() == readout.num_items, "each item has a row");
  return std::move(builder).Take();
}

Expected<std::unique_ptr<EndpointResponse>> ScoreReadout::Respond(const JobRows& rows) const {
  Expected<ScoreResponse> response = ScoresFromRows(*this, rows);
  if (!response) {
    return Unexpected(std::move(response).error());
  }
  return std::unique_ptr<EndpointResponse>(std::make_unique<ScoreResponse>(*std::move(response)));
}

}  // namespace scorecast::coordinator
