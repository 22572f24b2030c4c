#include "coordinator/doors/scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "coordinator/doors/request_error.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::RowLogits;
using proto::Unexpected;

double LogProbability(const RowLogits& row, float logit) {
  return static_cast<double>(logit) - static_cast<double>(row.max) - std::log(row.sum_exp);
}

std::vector<double> LabelLogProbabilities(const RowLogits& row) {
  std::vector<double> result;
  result.reserve(row.label_logits.size());
  for (const float logit : row.label_logits) {
    result.push_back(LogProbability(row, logit));
  }
  return result;
}

/// From logits in every case, so that asking for more in the same answer changes no bit of it.
std::vector<double> Softmax(const std::vector<float>& logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  result.reserve(logits.size());
  double sum = 0;
  for (const float logit : logits) {
    result.push_back(std::exp((static_cast<double>(logit) - largest) / temperature));
    sum += result.back();
  }
  for (double& value : result) {
    value /= sum;
  }
  return result;
}

std::vector<TokenLogprob> TopLogProbabilities(const RowLogits& row) {
  std::vector<TokenLogprob> result;
  result.reserve(row.top.size());
  for (const auto& [id, logit] : row.top) {
    result.emplace_back(id, LogProbability(row, logit));
  }
  // Logits that differ may give the same log-probability, whose order is then that of the ids.
  std::sort(result.begin(), result.end(), [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return result;
}

bool AllFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

bool AllFinite(const std::vector<TokenLogprob>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const TokenLogprob& v) { return std::isfinite(v.second); });
}

/// A NaN would be out of order in what follows, so logits are looked at before anything else.
bool LogitsAreFinite(const RowLogits& row) {
  return std::all_of(row.label_logits.begin(), row.label_logits.end(),
                     [](float v) { return std::isfinite(v); }) &&
         std::all_of(row.top.begin(), row.top.end(),
                     [](const auto& v) { return std::isfinite(v.second); });
}

proto::Error NotFinite(const std::string& field) {
  return {500, "not_finite",
          "The model's output for " + field + " is not finite: its checkpoint may be broken.",
          field};
}

/// Takes the rows in their order.
class Answer {
 public:
  explicit Answer(const ScoreReadout& readout) : readout_(readout) {
    response_.model = readout.model;
    response_.usage = readout.usage;
    response_.item_first_ignored = readout.item_first_ignored;
    if (readout.token_logprobs) {
      response_.token_logprobs.emplace();
    }
    if (readout.top_logprobs) {
      response_.top_logprobs.emplace();
    }
  }

  /// False where a number of the row is not finite.
  bool AddQueryRow(const RowLogits& row) {
    if (!LogitsAreFinite(row) || !AddTop(row)) {
      return false;
    }
    if (!readout_.query_token_logprobs) {
      return true;
    }
    response_.query_token_logprobs = LabelLogProbabilities(row);
    return AllFinite(*response_.query_token_logprobs);
  }

  bool AddItemRow(const RowLogits& row) {
    if (!LogitsAreFinite(row) || !AddTop(row)) {
      return false;
    }
    std::vector<double>& scores = response_.scores.emplace_back();
    std::vector<double> logprobs;
    if (readout_.token_logprobs || !readout_.apply_softmax) {
      logprobs = LabelLogProbabilities(row);
      if (!AllFinite(logprobs)) {
        return false;
      }
    }
    if (readout_.apply_softmax) {
      scores = Softmax(row.label_logits, readout_.temperature);
    } else {
      std::transform(logprobs.begin(), logprobs.end(), std::back_inserter(scores),
                     [](double logprob) { return std::exp(logprob); });
    }
    if (readout_.token_logprobs) {
      response_.token_logprobs->push_back(std::move(logprobs));
    }
    return AllFinite(scores);
  }

  std::size_t num_items() const { return response_.scores.size(); }
  ScoreResponse Take() && { return std::move(response_); }

 private:
  bool AddTop(const RowLogits& row) {
    if (readout_.top_logprobs) {
      response_.top_logprobs->push_back(TopLogProbabilities(row));
      return AllFinite(response_.top_logprobs->back());
    }
    return true;
  }

  const ScoreReadout& readout_;
  ScoreResponse response_;
};

}  // namespace

Expected<ScoreResponse> ScoresFromRows(const ScoreReadout& readout,
                                       const std::vector<std::vector<RowLogits>>& rows) {
  Answer answer(readout);
  bool query_row = readout.query_row && readout.num_items > 0;
  for (const std::vector<RowLogits>& sequence : rows) {
    for (const RowLogits& row : sequence) {
      if (query_row) {
        query_row = false;
        if (!answer.AddQueryRow(row)) {
          return Unexpected(NotFinite("query"));
        }
        continue;
      }
      const std::size_t item = answer.num_items();
      if (!answer.AddItemRow(row)) {
        return Unexpected(NotFinite(At("items", item)));
      }
    }
  }
  proto::Check(answer.num_items() == readout.num_items, "each item has a row");
  return std::move(answer).Take();
}

}  // namespace scorecast::coordinator
