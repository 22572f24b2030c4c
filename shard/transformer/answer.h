#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"
#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// What one rank sends of the rows read, in the order of the plan's reads. For each read: a float
/// for every label in the rank's vocabulary range, in list order; where the normaliser is asked
/// for, its local maximum (float) and sum of exponentials (double); its min(top_k, range) best
/// (id, logit); and, where a token is drawn, its best (id, logit + noise as a double). The layout
/// follows from the plan and the range, so nothing else needs to be sent.
struct AnswerLayout {
  std::vector<std::size_t> offsets;  ///< [reads]: where each read's part begins, in bytes.
  std::size_t bytes = 0;             ///< Of the whole answer.
};

AnswerLayout LayOutAnswer(const proto::ForwardPlan& plan, proto::Range vocabulary);

/// One read's part of an answer, taken apart or put together at `bytes`.
struct AnswerPart {
  std::vector<float> label_logits;  ///< Of the labels that the rank owns.
  float max = kNoScore;
  double sum_exp = 0;
  std::vector<std::pair<proto::TokenId, float>> top;
  std::pair<proto::TokenId, double> drawn = {-1, -std::numeric_limits<double>::infinity()};
};
void WriteAnswerPart(const proto::PlanRead& read, const AnswerPart& part, std::byte* bytes);

/// The ranks' answers, concatenated in rank order, as one RowLogits for each read. Sums of
/// exponentials are added in rank order.
std::vector<proto::RowLogits> MergeAnswers(const proto::ForwardPlan& plan,
                                           std::span<const proto::Range> vocabularies,
                                           std::span<const std::byte> answers);

/// Adds the maximum and sum of exponentials of some more logits.
void MergeNormalizer(float more_max, double more_sum_exp, float& max, double& sum_exp);

/// Sorts by IsBetter and keeps the first `k`.
void KeepBest(std::size_t k, std::vector<std::pair<proto::TokenId, float>>& top);

/// By logit, then by id. What is not a number comes last, so that this is an order in any case.
bool IsBetter(const std::pair<proto::TokenId, float>& a, const std::pair<proto::TokenId, float>& b);

}  // namespace scorecast::shard
