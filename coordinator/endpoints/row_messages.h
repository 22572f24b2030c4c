#pragma once

#include <optional>
#include <vector>

#include "coordinator/request/row_scores.h"
#include "coordinator/request/values.h"
#include "proto/plan/row_logits.h"
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

/// Adds what `readout` asks for to the lists of a response. False if a number of the row is not
/// finite: there is no response then.
template <typename Response>
bool AddRow(const proto::RowLogits& row, const RowReadout& readout, Response& response) {
  if (readout.scores) {
    const auto scores = ScoresOfRow(row, readout.kind, readout.temperature);
    if (!scores) {
      return false;
    }
    SetNumbers(*scores, *response.add_scores());
  }
  if (readout.token_logprobs) {
    const auto logprobs = LogprobsOfRow(row);
    if (!logprobs) {
      return false;
    }
    SetNumbers(*logprobs, *response.add_token_logprobs());
  }
  if (readout.top_logprobs) {
    const auto top = TopLogprobsOfRow(row);
    if (!top) {
      return false;
    }
    SetTopLogprobs(*top, *response.add_top_logprobs());
  }
  return LogitsAreFinite(row);
}

}  // namespace scorecast::coordinator
