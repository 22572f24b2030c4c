#include "launcher/client/calibration_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace calibration_report_test {

using ::testing::ElementsAre;

TEST(CalibrationReport, HasATableAndPlots) {
  constexpr Temperatures kPresent = {1, 1, 1, 1, 1, 2.5};
  CalibrationResult result;
  result.temperatures = {1.43721, 1, 1, 1, 1, 2.5};
  for (CalibratedGroup& group : result.groups) {
    group.outcome = CalibratedGroup::Outcome::kTooFew;
  }
  CalibratedGroup& noul = result.groups[0];
  noul = {
      .fitted_on = 100, .outcome = CalibratedGroup::Outcome::kFitted, .before = {}, .after = {}};
  noul.before = {.number = 4, .accuracy = 0.75, .loss = 1.5, .calibration_error = 0.25, .bins = {}};
  noul.before.bins[14] = {.number = 4, .probability = 1, .accuracy = 0.75};
  noul.after = noul.before;
  noul.after.loss = 0.5;
  noul.after.bins[14] = {};
  noul.after.bins[11] = {.number = 4, .probability = 0.75, .accuracy = 0.75};
  result.groups[5].fitted_on = 7;
  result.groups[1] = {
      .fitted_on = 60, .outcome = CalibratedGroup::Outcome::kNoBest, .before = {}, .after = {}};
  result.groups[5].before.loss = 0.5;
  result.groups[5].after.loss = 0.75;
  result.all = noul;
  result.all.fitted_on = 167;
  EXPECT_THAT(
      CalibrationReport(result, kPresent),
      ElementsAre("                 temperature      fit  held-out: right   loss           ECE",
                  "noul             1 > 1.437        100      4   75.0 %  1.500 > 0.500  0.250",
                  "choice of 2      1                 60      0",
                  "score            2.5                7      0",
                  "all                               167      4   75.0 %  1.500 > 0.500  0.250",
                  "choice of 2 keeps its temperature: none from 0.05 to 20 has the least loss",
                  "choice of 3-5 keeps its temperature: 0 questions to fit, fewer than 50",
                  "choice of 6-26 keeps its temperature: 0 questions to fit, fewer than 50",
                  "choice of 27-255 keeps its temperature: 0 questions to fit, fewer than 50",
                  "score keeps its temperature: 7 questions to fit, fewer than 50",
                  "score: the loss of held-out questions rises; label more questions", "",
                  "held-out questions before, by top probability (│: mean)",
                  " probability  questions    mean   right",
                  "0.933-1.000          4   1.000   0.750 ██████████████████████████████         │",
                  "", "and after", " probability  questions    mean   right",
                  "0.733-0.800          4   0.750   0.750 ██████████████████████████████│"));
}

}  // namespace calibration_report_test
}  // namespace scorecast::launcher
