#include "coordinator/endpoints/score/score_response.h"

#include <cstddef>
#include <memory>
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
    response_->item_first_ignored = readout.item_first_ignored;
    if (readout.row.token_logprobs) {
      response_->token_logprobs.emplace();
    }
    if (readout.row.top_logprobs) {
      response_->top_logprobs.emplace();
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
      response_->query_token_logprobs = std::move(scores->token_logprobs);
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
    response_->scores.push_back(std::move(scores->scores));
    if (readout_.row.token_logprobs) {
      response_->token_logprobs->push_back(std::move(scores->token_logprobs));
    }
    return true;
  }

  std::size_t num_items() const { return response_->scores.size(); }
  std::unique_ptr<ScoreResponse> Take() && { return std::move(response_); }

 private:
  void AddTop(RowScores& scores) {
    if (readout_.row.top_logprobs) {
      response_->top_logprobs->push_back(std::move(scores.top_logprobs));
    }
  }

  const ScoreReadout& readout_;
  std::unique_ptr<ScoreResponse> response_ = std::make_unique<ScoreResponse>();
};

}  // namespace

Expected<std::unique_ptr<EndpointResponse>> ScoreReadout::Respond(const JobRows& rows) const {
  ResponseBuilder builder(*this);
  bool reads_query = query_row && num_items > 0;
  for (const std::vector<RowLogits>& sequence : rows) {
    for (const RowLogits& logits : sequence) {
      if (reads_query) {
        reads_query = false;
        if (!builder.AddQueryRow(logits)) {
          return Unexpected(NotFinite("query"));
        }
        continue;
      }
      const std::size_t item = builder.num_items();
      if (!builder.AddItemRow(logits)) {
        return Unexpected(NotFinite(At("items", item)));
      }
    }
  }
  proto::Check(builder.num_items() == num_items, "each item has a row");
  return std::unique_ptr<EndpointResponse>(std::move(builder).Take());
}

}  // namespace scorecast::coordinator
