#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::launcher {

/// Questions that share a temperature, in the order of a template's temperatures.
enum class TemperatureGroup { kNoul, kChoice2, kChoice3To5, kChoice6To26, kChoice27To255, kScore };
inline constexpr std::size_t kTemperatureGroups = 6;

/// "noul", "choice of 3-5", "score".
std::string_view NameOf(TemperatureGroup group);

/// The group of a choice with this number of options, of which there are at least 2.
TemperatureGroup ChoiceGroup(std::size_t options);

/// By TemperatureGroup.
using Temperatures = std::array<double, kTemperatureGroups>;

/// A template's line `temperature: {…}` with a newline.
std::string TemperatureLine(const Temperatures& temperatures);

/// What a model says of a question whose right answer is known.
struct LabelledAnswer {
  TemperatureGroup group = TemperatureGroup::kNoul;
  /// The options' logits before they are divided by a temperature. A constant may be added to all
  /// of them. There are at least two, and all are finite.
  std::vector<double> logits;
  std::size_t right = 0;     ///< Index of the right option.
  bool is_held_out = false;  ///< Measures temperatures, and is not used to find them.
};

/// Answers in the order in which sums go through them.
using LabelledAnswers = std::vector<const LabelledAnswer*>;

/// Logits of which `probabilities` are the softmax at `temperature`. A probability of 0 counts as
/// the smallest one above it.
std::vector<double> LogitsOf(std::span<const double> probabilities, double temperature);

/// The same of a noul, of which only the probability of true is known. That of false counts as at
/// least half of the smallest difference to 1.
std::vector<double> LogitsOfNoul(double probability, double temperature);

/// The softmax of the logits at a temperature.
std::vector<double> ProbabilitiesAt(double temperature, std::span<const double> logits);

}  // namespace scorecast::launcher
