#pragma once

#include <array>
#include <filesystem>
#include <ostream>
#include <string_view>
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

/// The encoders in tests/golden/encoders, and those in the directory that the environment variable
/// SCORECAST_MORE_ENCODERS names: see tests/golden/make/take_encoders.py. Throws std::runtime_error
/// if one of the two cannot be read.
struct EncoderDirectories {
  std::vector<GoldenDirectory> embedders;
  std::vector<GoldenDirectory> classifiers;
};

EncoderDirectories FindEncoderDirectories(const std::filesystem::path& golden_dir);

/// The promised largest error of an encoder's figure in float32. The values of ModernBERT are
/// larger than those of the others.
double ToleranceOf(const GoldenDirectory& encoder);

/// The language models among the directories of tests/golden/families. Tests of the engine, of the
/// memory estimate and of the executable run for each of them.
inline constexpr auto kGoldenFamilies = std::to_array<std::string_view>(
    {"llama", "llama-nine-heads", "llama-bias", "llama-linear", "llama3", "mistral", "qwen2",
     "qwen2-yarn", "qwen3", "gemma", "gemma2", "gemma3"});

/// One language model of each family, with as many of the family's options as possible. Tests that
/// take longer run for these.
inline constexpr auto kEachFamily = std::to_array<std::string_view>(
    {"llama-bias", "llama3", "mistral", "qwen2-yarn", "qwen3", "gemma", "gemma2", "gemma3"});

/// Those with a classification head.
inline constexpr auto kGoldenClassifiers = std::to_array<std::string_view>(
    {"llama3-classifier", "qwen2-classifier", "qwen3-classifier", "gemma2-classifier"});

}  // namespace scorecast::reference
