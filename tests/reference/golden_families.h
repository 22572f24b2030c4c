#pragma once

#include <array>
#include <string_view>

namespace scorecast::reference {

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
