#pragma once

#include <array>
#include <cstddef>

#include "launcher/calibrate/labelled_answer.h"

namespace scorecast::launcher {

inline constexpr std::size_t kReliabilityBins = 15;

/// Answers whose top probability is in one of the intervals (i / 15, (i + 1) / 15].
struct ReliabilityBin {
  std::size_t number = 0;
  double probability = 0;  ///< Mean of the top probabilities.
  double accuracy = 0;     ///< Part whose most likely option is the right one.
};

/// How good answers are. All is 0 if there are none.
struct AnswerQuality {
  std::size_t number = 0;
  double accuracy = 0;           ///< The first of equally likely options counts.
  double loss = 0;               ///< Mean of −log of the right option's probability.
  double calibration_error = 0;  ///< Mean of |accuracy − probability| of the bins, by number.
  std::array<ReliabilityBin, kReliabilityBins> bins;
};

/// Each answer has the temperature of its group.
AnswerQuality QualityOf(const LabelledAnswers& answers, const Temperatures& temperatures);

}  // namespace scorecast::launcher
