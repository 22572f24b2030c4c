#include "coordinator/endpoints/score/score_response.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::RowLogits;
using proto::Unexpected;

/// Builds the response. The query's row is added first, then those of the items in their order.
class ResponseBuilder {
 public:
  explicit ResponseBuilder(const ScoreReadout& readout) : readout_(readout) {
    response_->item_first_ignored = readout.item_first_ignored;
    response_->occurrences = readout.occurrences;
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
  ResponseBuilder builder(*this);
  if (query_row && !builder.AddQueryRow(*read.front())) {
    return Unexpected(NotFinite("query"));
  }
  for (std::size_t item = 0; item < item_rows.size(); ++item) {
    for (std::size_t i = 0; i < rows_of(item); ++i) {
      if (!builder.AddItemRow(*read.at(query_rows + item_rows[item] + i))) {
        return Unexpected(NotFinite(At("items", item)));
      }
    }
  }
  return std::unique_ptr<EndpointResponse>(std::move(builder).Take());
}

}  // namespace scorecast::coordinator
