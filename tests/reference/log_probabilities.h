#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::reference {

/// Logits [vocab] → log-probabilities [vocab], in double.
std::vector<double> LogSoftmax(std::span<const double> logits);

/// The best `k` as (id, value), sorted by value, then by id.
std::vector<std::pair<proto::TokenId, double>> Top(std::span<const double> values, std::size_t k);

}  // namespace scorecast::reference
