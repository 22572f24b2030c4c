#pragma once

#include <filesystem>
#include <string>

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

}  // namespace scorecast::testing
