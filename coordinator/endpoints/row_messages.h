#pragma once

#include <vector>

#include "coordinator/request/row_scores.h"
#include "coordinator/request/values.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

// What messages of several endpoints have of a row.

inline void SetNumbers(const std::vector<double>& numbers, v1::Numbers& message) {
  message.mutable_values()->Assign(numbers.begin(), numbers.end());
}

inline void SetTopLogprobs(const std::vector<TokenLogprob>& top, v1::TokenLogprobs& message) {
  message.mutable_entries()->Reserve(static_cast<int>(top.size()));
  for (const auto& [id, logprob] : top) {
    v1::TokenLogprob& entry = *message.add_entries();
    entry.set_id(id);
    entry.set_logprob(logprob);
  }
}

/// Adds what `readout` asks for to the lists of a response.
template <typename Response>
void AddRow(const RowScores& row, const RowReadout& readout, Response& response) {
  if (readout.scores) {
    SetNumbers(row.scores, *response.add_scores());
  }
  if (readout.token_logprobs) {
    SetNumbers(row.token_logprobs, *response.add_token_logprobs());
  }
  if (readout.top_logprobs) {
    SetTopLogprobs(row.top_logprobs, *response.add_top_logprobs());
  }
}

}  // namespace scorecast::coordinator
