#pragma once

#include <filesystem>
#include <ostream>
#include <vector>

namespace scorecast::reference {

/// A directory of a model with a golden.json, as tests take it for a parameter. They print the end
/// of its path, "families/qwen3", because the rest depends on the machine.
struct GoldenDirectory {
  std::filesystem::path path;
};

inline void PrintTo(const GoldenDirectory& directory, std::ostream* out) {
  *out << directory.path.parent_path().filename().string() << "/"
       << directory.path.filename().string();
}

struct GoldenDirectories {
  std::vector<GoldenDirectory> language_models;
  std::vector<GoldenDirectory> classifiers;
};

/// The directories in `families` and `odd` of tests/golden, and those in the directory that the
/// environment variable SCORECAST_MORE_GOLDENS names: `tests/golden/make/families.py DIR --odd
/// --seed N` makes one. Throws std::runtime_error if one of the three cannot be read.
GoldenDirectories FindGoldenDirectories(const std::filesystem::path& golden_dir);

}  // namespace scorecast::reference
