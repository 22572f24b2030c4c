#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "launcher/calibrate/answer_quality.h"
#include "launcher/calibrate/labelled_answer.h"

namespace scorecast::launcher {

inline constexpr double kLowestTemperature = 0.05;
inline constexpr double kHighestTemperature = 20;
/// A group with fewer answers to fit keeps its temperature.
inline constexpr std::size_t kFewestAnswers = 50;

/// The temperature at which the loss of the answers is least, with six digits. Nothing if it is
/// not between the lowest and the highest one: if, say, all answers are right, the loss falls with
/// the temperature without end.
std::optional<double> BestTemperature(const LabelledAnswers& answers);

/// What a calibration found of a group, or of all.
struct CalibratedGroup {
  enum class Outcome { kFitted, kTooFew, kNoBest };
  std::size_t fitted_on = 0;  ///< Number of answers that are not held out.
  Outcome outcome = Outcome::kFitted;
  // How good the held-out answers are at the template's temperatures, and at those that were found.
  AnswerQuality before;
  AnswerQuality after;
};

struct CalibrationResult {
  Temperatures temperatures{};
  std::array<CalibratedGroup, kTemperatureGroups> groups;  ///< By TemperatureGroup.
  CalibratedGroup all;                                     ///< Its outcome says nothing.
};

/// Answers of a server to labelled questions. They may be added in any order: sums go through them
/// in the order of their lines and questions, so that the result has the same bits.
class Calibration {
 public:
  void Add(std::int64_t line, std::size_t question, LabelledAnswer answer) {
    answers_.emplace(std::pair(line, question), std::move(answer));
  }

  /// `present`: temperatures of the template, which groups keep that cannot be fitted.
  CalibrationResult Run(const Temperatures& present) const;

 private:
  std::map<std::pair<std::int64_t, std::size_t>, LabelledAnswer> answers_;
};

}  // namespace scorecast::launcher
