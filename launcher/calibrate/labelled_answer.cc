#include "launcher/calibrate/labelled_answer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace scorecast::launcher {
namespace {

constexpr std::array<std::string_view, kTemperatureGroups> kNames = {
    "noul", "choice of 2", "choice of 3-5", "choice of 6-26", "choice of 27-255", "score"};

}  // namespace

std::string_view NameOf(TemperatureGroup group) { return kNames[static_cast<std::size_t>(group)]; }

TemperatureGroup ChoiceGroup(std::size_t options) {
  if (options <= 2) {
    return TemperatureGroup::kChoice2;
  }
  if (options <= 5) {
    return TemperatureGroup::kChoice3To5;
  }
  return options <= 26 ? TemperatureGroup::kChoice6To26 : TemperatureGroup::kChoice27To255;
}

std::string TemperatureLine(const Temperatures& temperatures) {
  // As many digits as are needed to read the same number again, and "20" instead of "2e+01".
  const auto text = [&](TemperatureGroup group) {
    const double number = temperatures[static_cast<std::size_t>(group)];
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return std::string(digits.data(), end);
  };
  using enum TemperatureGroup;
  return R"(temperature: {"noul": )" + text(kNoul) + R"(, "choice": {"2": )" + text(kChoice2) +
         R"(, "3-5": )" + text(kChoice3To5) + R"(, "6-26": )" + text(kChoice6To26) +
         R"(, "27-255": )" + text(kChoice27To255) + R"(}, "score": )" + text(kScore) + "}\n";
}

std::vector<double> LogitsOf(std::span<const double> probabilities, double temperature) {
  std::vector<double> logits;
  logits.reserve(probabilities.size());
  for (const double probability : probabilities) {
    logits.push_back(temperature *
                     std::log(std::max(probability, std::numeric_limits<double>::denorm_min())));
  }
  return logits;
}

std::vector<double> LogitsOfNoul(double probability, double temperature) {
  constexpr double kSmallest = std::numeric_limits<double>::epsilon() / 4;
  const std::array<double, 2> probabilities = {probability, std::max(1 - probability, kSmallest)};
  return LogitsOf(probabilities, temperature);
}

std::vector<double> ProbabilitiesAt(double temperature, std::span<const double> logits) {
  const double largest = *std::ranges::max_element(logits);
  std::vector<double> probabilities;
  probabilities.reserve(logits.size());
  double sum = 0;
  for (const double logit : logits) {
    probabilities.push_back(std::exp((logit - largest) / temperature));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) {
    probability /= sum;
  }
  return probabilities;
}

}  // namespace scorecast::launcher
