#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {

/// Flags of a small random model that decides. `temperature` is a line of its template, or empty.
inline BatchCommand Deciding(const std::string& temperature = "") {
  const std::filesystem::path file = NewDirectory() / "template.txt";
  WriteFile(file, R"(state: "{state}\n"
noul: "{instructions}\n{options}"
choice: "{instructions}\n{options}"
score: "{instructions}\n{options}"
option: "{label}{name}\n"
level: "{label}{description}\n"
outcome: "{label}{description}\n"
labels.noul: [["1"],["2"]]
labels.choice: "A-Z"
labels.score: "0-9"
end: ""
)" + temperature + "\n");
  return {MakeModel("digits"), {"--decision-template", file.string()}};
}

/// Runs `scorecast batch` on bodies of /v1/systemone. They keep the order of their keys, because
/// the order of options is a part of the prompt.
inline BatchRun RunDecisions(const BatchCommand& command,
                             const std::vector<nlohmann::ordered_json>& bodies) {
  std::string input;
  for (const nlohmann::ordered_json& body : bodies) {
    input +=
        R"({"custom_id":"x","method":"POST","url":"/v1/systemone","body":)" + body.dump() + "}\n";
  }
  return RunBatchText(command, input);
}

/// The probabilities of an answer in the order of the question: of true and false, of options, or
/// of levels.
inline std::vector<double> ProbabilitiesOf(const nlohmann::ordered_json& question,
                                           const nlohmann::json& answer) {
  if (answer.at("type") == "noul") {
    const double yes = answer.at("noul");
    return {yes, 1 - yes};
  }
  std::vector<double> probabilities;
  for (const auto& [key, criterion] : question.at("criteria").items()) {
    probabilities.push_back(answer.at("probabilities").at(key));  // A list's key is its index.
  }
  return probabilities;
}

}  // namespace scorecast::testing
