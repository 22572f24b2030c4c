#include "coordinator/generate/scored_token.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scorecast::coordinator {
namespace {

/// The logit of a token, if it was read.
std::optional<float> LogitOf(TokenId id, const proto::RowRead& read, const proto::RowLogits& row) {
  if (read.target == id) {
    return row.target_logit;
  }
  const auto drawn = std::ranges::find(row.drawn, id, &proto::DrawnToken::id);
  if (drawn != row.drawn.end()) {
    return static_cast<float>(drawn->logit);
  }
  const auto found = std::ranges::find(row.top, id, &std::pair<TokenId, float>::first);
  return found == row.top.end() ? std::nullopt : std::optional(found->second);
}

double LogprobOf(float logit, const proto::RowLogits& row) {
  return double{logit} - double{row.max} - std::log(row.sum_exp);
}

}  // namespace

proto::RowRead ScoringRead(TokenId id, std::int64_t best) {
  return {.normalizer = true, .top_k = static_cast<std::int32_t>(best), .target = id};
}

std::optional<ScoredToken> ScoreToken(TokenId id, std::int64_t best, const proto::RowRead& read,
                                      const proto::RowLogits& row) {
  const std::optional<float> logit = LogitOf(id, read, row);
  if (!logit || read.temperature != 1 || read.excludes_labels || read.top_k < best) {
    return std::nullopt;
  }
  ScoredToken token{.id = id, .logprob = LogprobOf(*logit, row), .rank = row.target_rank};
  for (const auto& [best_id, best_logit] : row.top) {
    if (std::cmp_equal(token.best.size(), best)) {
      break;
    }
    token.best.emplace_back(best_id, LogprobOf(best_logit, row));
  }
  return token;
}

std::vector<double> LabelLogprobs(const proto::RowLogits& row) {
  std::vector<double> logprobs;
  logprobs.reserve(row.label_logits.size());
  for (const float logit : row.label_logits) {
    logprobs.push_back(LogprobOf(logit, row));
  }
  return logprobs;
}

bool IsRowFinite(const proto::RowLogits& row) {
  return std::isfinite(row.max) && std::isfinite(row.sum_exp) && std::isfinite(row.target_logit) &&
         std::ranges::all_of(row.drawn,
                             [](const auto& token) { return std::isfinite(token.sum); }) &&
         std::ranges::all_of(row.label_logits, [](float logit) { return std::isfinite(logit); }) &&
         std::ranges::all_of(row.top, [](const auto& best) { return std::isfinite(best.second); });
}

}  // namespace scorecast::coordinator
