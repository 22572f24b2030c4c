#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

// From the logits of labels to an answer, in float64.

/// The log-probabilities of labels: a softmax over their logits, divided by `temperature`. A label
/// of several spellings has the sum of their probabilities, and `spellings` says how many each has;
/// if it is empty, each has one. The logits must be finite.
std::vector<double> LabelLogProbabilities(std::span<const float> logits,
                                          std::span<const std::size_t> spellings,
                                          double temperature);

/// The part of the whole vocabulary's probability that the labels have together. The row must have
/// been read with the normalizer. Not a number if a logit is none.
double LabelMass(const proto::RowLogits& row);

/// The mean of two lists of log-probabilities of the same labels, normalised.
std::vector<double> MeanLogProbabilities(std::span<const double> first,
                                         std::span<const double> second);

std::vector<double> ProbabilitiesOf(std::span<const double> log_probabilities);

/// The first of the largest.
std::size_t LargestOf(std::span<const double> probabilities);

/// (n · max − 1) / (n − 1), from 0 to 1; 1 if there is one option.
double ChoiceConfidence(std::span<const double> probabilities);

/// Σ i · p_i, of levels from 0.
double ExpectedLevel(std::span<const double> probabilities);

/// 1 − Σ p_i |i − mode| / (Σ |i − (n − 1) / 2| / n), at least 0; 1 if there is one level. The
/// formula of the official adapter of System One.
double ScoreConfidence(std::span<const double> probabilities);

}  // namespace scorecast::coordinator
