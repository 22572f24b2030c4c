#pragma once

#include <utility>
#include <vector>

#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

// Lists of response messages as vectors, which are easier to compare.

inline std::vector<double> NumbersOf(const v1::Numbers& message) {
  return {message.values().begin(), message.values().end()};
}

inline std::vector<std::vector<double>> RowsOf(
    const google::protobuf::RepeatedPtrField<v1::Numbers>& messages) {
  std::vector<std::vector<double>> rows;
  for (const v1::Numbers& row : messages) {
    rows.push_back(NumbersOf(row));
  }
  return rows;
}

inline std::vector<std::pair<int, double>> TopOf(const v1::TokenLogprobs& message) {
  std::vector<std::pair<int, double>> top;
  for (const v1::TokenLogprob& entry : message.entries()) {
    top.emplace_back(entry.id(), entry.logprob());
  }
  return top;
}

inline void AddRows(const std::vector<std::vector<double>>& rows,
                    google::protobuf::RepeatedPtrField<v1::Numbers>& messages) {
  for (const std::vector<double>& row : rows) {
    messages.Add()->mutable_values()->Assign(row.begin(), row.end());
  }
}

inline void AddTop(const std::vector<std::pair<int, double>>& top,
                   google::protobuf::RepeatedPtrField<v1::TokenLogprobs>& messages) {
  v1::TokenLogprobs& row = *messages.Add();
  for (const auto& [id, logprob] : top) {
    v1::TokenLogprob& entry = *row.add_entries();
    entry.set_id(id);
    entry.set_logprob(logprob);
  }
}

}  // namespace scorecast::coordinator
