#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace scorecast::reference {

/// Directories of models with a golden.json, as tests take them for parameters.
struct GoldenDirectories {
  std::vector<std::string> language_models;
  std::vector<std::string> classifiers;
};

/// The directories in `families` and `odd` of tests/golden, and those in the directory that the
/// environment variable SCORECAST_MORE_GOLDENS names: `tests/golden/make/families.py DIR --odd
/// --seed N` makes one. Throws std::runtime_error if one of the three cannot be read.
GoldenDirectories FindGoldenDirectories(const std::filesystem::path& golden_dir);

}  // namespace scorecast::reference
