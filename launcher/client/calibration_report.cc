#include "launcher/client/calibration_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "launcher/client/terminal_text.h"
#include "proto/base/count.h"

namespace scorecast::launcher {
namespace {

using Outcome = CalibratedGroup::Outcome;

constexpr int kPlotColumns = 40;

template <typename... Values>
std::string Printed(const char* format, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// "1.000 > 1.437", or the number alone if it stays.
std::string Change(const char* format, double before, double after) {
  std::string text = Printed(format, before);
  return before == after ? text : text + " > " + Printed(format, after);
}

bool HasQuestions(const CalibratedGroup& group) {
  return group.fitted_on + group.before.number > 0;
}

std::string Row(std::string_view name, const CalibratedGroup& group,
                const std::string& temperature) {
  const AnswerQuality& before = group.before;
  const AnswerQuality& after = group.after;
  const std::string start =
      Printed("%-16.*s %-13s %6zu %6zu", static_cast<int>(name.size()), name.data(),
              temperature.c_str(), group.fitted_on, before.number);
  return before.number == 0
             ? start
             : start +
                   Printed(
                       " %6.1f %%  %-13s  %s", 100 * before.accuracy,
                       Change("%.3f", before.loss, after.loss).c_str(),
                       Change("%.3f", before.calibration_error, after.calibration_error).c_str());
}

std::string WhyKept(TemperatureGroup type, const CalibratedGroup& group) {
  const std::string start = std::string(NameOf(type)) + " keeps its temperature: ";
  return group.outcome == Outcome::kTooFew
             ? start + proto::Count(group.fitted_on, "question") + " to fit, fewer than " +
                   std::to_string(kFewestAnswers)
             : start + Printed("none from %g to %g has the least loss", kLowestTemperature,
                               kHighestTemperature);
}

/// A bar of the accuracy, with a mark at the mean probability.
void AddPlot(const char* title, const AnswerQuality& quality, std::vector<std::string>& lines) {
  lines.emplace_back();
  lines.emplace_back(title);
  lines.emplace_back(" probability  questions    mean   right");
  for (std::size_t i = 0; i < quality.bins.size(); ++i) {
    const ReliabilityBin& bin = quality.bins[i];
    if (bin.number == 0) {
      continue;
    }
    const auto bins = static_cast<double>(kReliabilityBins);
    const auto full = static_cast<int>(std::lround(kPlotColumns * bin.accuracy));
    const auto mark =
        std::min(static_cast<int>(std::lround(kPlotColumns * bin.probability)), kPlotColumns - 1);
    std::string bar;
    for (int column = 0; column <= std::max(full - 1, mark); ++column) {
      bar += column == mark ? "│" : column < full ? "█" : " ";
    }
    lines.push_back(Printed("%5.3f-%5.3f %10zu %7.3f %7.3f ", static_cast<double>(i) / bins,
                            static_cast<double>(i + 1) / bins, bin.number, bin.probability,
                            bin.accuracy) +
                    bar);
  }
}

}  // namespace

std::vector<std::string> CalibrationReport(const CalibrationResult& result,
                                           const Temperatures& present) {
  std::vector<std::string> lines = {
      "                 temperature      fit  held-out: right   loss           ECE"};
  for (std::size_t i = 0; i < kTemperatureGroups; ++i) {
    if (HasQuestions(result.groups[i])) {
      lines.push_back(Row(NameOf(static_cast<TemperatureGroup>(i)), result.groups[i],
                          Change("%.4g", present[i], result.temperatures[i])));
    }
  }
  lines.push_back(Row("all", result.all, ""));
  for (std::size_t i = 0; i < kTemperatureGroups; ++i) {
    if (result.groups[i].outcome != Outcome::kFitted) {
      lines.push_back(WhyKept(static_cast<TemperatureGroup>(i), result.groups[i]));
    }
  }
  for (std::size_t i = 0; i < kTemperatureGroups; ++i) {
    const CalibratedGroup& group = result.groups[i];
    if (group.after.loss > group.before.loss) {
      lines.push_back(std::string(NameOf(static_cast<TemperatureGroup>(i))) +
                      ": the loss of held-out questions rises; label more questions");
    }
  }
  if (result.all.before.number > 0) {
    AddPlot("held-out questions before, by top probability (│: mean)", result.all.before, lines);
    AddPlot("and after", result.all.after, lines);
  }
  return lines;
}

}  // namespace scorecast::launcher
