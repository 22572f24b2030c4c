#include "launcher/calibrate/labelled_answer.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/decisions/decision_template.h"

namespace scorecast::launcher {
namespace labelled_answer_test {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(LabelledAnswer, LogitsAreThoseBeforeTheTemplatesTemperature) {
  const std::vector<double> logits = {3, -1, 0.5};
  const std::vector<double> scaled = ProbabilitiesAt(2.5, logits);
  const std::vector<double> found = LogitsOf(scaled, 2.5);
  EXPECT_NEAR(found[0] - found[1], 4, 1e-12);
  EXPECT_NEAR(found[0] - found[2], 2.5, 1e-12);
  const std::vector<double> noul = LogitsOfNoul(1 / (1 + std::exp(-3.0 / 2)), 2);
  EXPECT_NEAR(noul[0] - noul[1], 3, 1e-12);
}

TEST(LabelledAnswer, ProbabilitiesOfZeroAndOneHaveFiniteLogits) {
  EXPECT_TRUE(std::isfinite(LogitsOf(std::vector<double>{1, 0}, 1)[1]));
  EXPECT_TRUE(std::isfinite(LogitsOfNoul(0, 1)[0]));
  EXPECT_NEAR(LogitsOfNoul(1, 1)[1], -54 * std::log(2.0), 1e-9);
}

TEST(LabelledAnswer, ProbabilitiesSumToOneWhateverTheLogitsAre) {
  EXPECT_THAT(ProbabilitiesAt(0.05, std::vector<double>{1000, 1000, -1000}),
              ElementsAre(0.5, 0.5, 0));
  EXPECT_THAT(ProbabilitiesAt(2, std::vector<double>{0, -2 * std::log(3.0)}),
              ElementsAre(DoubleNear(0.75, 1e-15), DoubleNear(0.25, 1e-15)));
}

TEST(LabelledAnswer, ChoicesHaveTheGroupsOfTemplates) {
  using coordinator::DecisionTemplate;
  using coordinator::DecisionType;
  const Temperatures temperatures = {1.4, 1.25, 1.0 / 3, 0.05, 17.5, 20};
  const std::string line = TemperatureLine(temperatures);
  EXPECT_EQ(line, R"(temperature: {"noul": 1.4, "choice": {"2": 1.25, "3-5": 0.3333333333333333, )"
                  R"("6-26": 0.05, "27-255": 17.5}, "score": 20})"
                  "\n");
  const DecisionTemplate read = coordinator::ParseDecisionTemplate(
      R"(state: "{state}\n"
noul: "{instructions}{options}"
choice: "{instructions}{options}"
score: "{instructions}{options}"
option: "{label}{name}\n"
level: "{label}{description}\n"
outcome: "{label}{description}\n"
labels.noul: [["1"],["2"]]
labels.choice: "A-Z"
labels.score: "0-9"
end: "x"
)" + line,
      "mine", "FILE");
  EXPECT_EQ(read.temperatures.Of(DecisionType::kNoul, 2), temperatures[0]);
  for (const std::size_t options : {2, 3, 5, 6, 26, 27, 255}) {
    EXPECT_EQ(read.temperatures.Of(DecisionType::kChoice, options),
              temperatures[static_cast<std::size_t>(ChoiceGroup(options))])
        << options;
  }
  EXPECT_EQ(read.temperatures.Of(DecisionType::kScore, 3), temperatures[5]);
}

}  // namespace labelled_answer_test
}  // namespace scorecast::launcher
