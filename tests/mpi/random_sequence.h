#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string_view>
#include <vector>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/paged_plan.h"
#include "tests/reference/directories.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {

// Sequences of random layouts, for the models of tests/golden/families.

inline std::filesystem::path Family(std::string_view name) {
  return std::filesystem::path(reference::kTestsDirectory) / "golden/families" / name;
}

inline constexpr std::int64_t kVocabSize = 320;

inline std::int32_t RandomLength(std::mt19937& random, std::int32_t low, std::int32_t high) {
  // A third of the lengths is exactly a page, or a page and one row.
  const std::int32_t length = std::uniform_int_distribution<std::int32_t>(low, high)(random);
  const auto kind = random() % 6;
  return kind < 2 && high > 65 ? 64 + static_cast<std::int32_t>(kind) : length;
}

/// Reads the last row and a random one of every segment.
inline void ReadEverySegment(std::mt19937& random, proto::PackedSequence& sequence) {
  sequence.label_lists = {{0, 5, static_cast<proto::TokenId>(kVocabSize) - 1, 17}};
  std::int32_t rows = 0;
  for (const proto::Segment& segment : sequence.segments) {
    rows += segment.length;
    for (const std::int32_t back :
         {0, static_cast<std::int32_t>(random() % static_cast<unsigned>(segment.length))}) {
      sequence.reads.push_back({rows - 1 - back, 0, true, 3});
      if (random() % 2 == 0) {
        sequence.reads.back().draw = {random(), static_cast<std::uint32_t>(rows), 3};
        sequence.reads.back().bin_width = 0.0625F;
        sequence.reads.back().masses = {50, {{0.5F, 7}}};
      }
    }
  }
}

/// A prefix, groups of chunks, and suffixes of random lengths. Some have several pages.
inline proto::PackedSequence RandomSequence(std::mt19937& random, bool has_weighting) {
  const auto tokens = [&](std::int32_t low, std::int32_t high) {
    return reference::RandomTokens(
        random(), static_cast<std::size_t>(RandomLength(random, low, high)), kVocabSize);
  };
  std::vector<std::vector<std::vector<proto::TokenId>>> groups(random() % 4);
  for (auto& group : groups) {
    group.resize(1 + random() % 3);
    std::ranges::generate(group, [&] { return tokens(0, 80); });
  }
  std::vector<std::vector<proto::TokenId>> suffixes(1 + random() % 3);
  std::ranges::generate(suffixes, [&] { return tokens(1, 70); });
  proto::PackedSequence sequence =
      Pack(reference::LayOutGroups(
               random() % 5 == 0 ? std::vector<proto::TokenId>{} : tokens(1, 150), groups, suffixes,
               random() % 2 == 0 ? reference::PositionStrategy::kShared
                                 : reference::PositionStrategy::kOffset),
           has_weighting ? proto::BlockWeighting{0.7F, 1.4F} : proto::BlockWeighting{});
  ReadEverySegment(random, sequence);
  return sequence;
}

inline std::vector<proto::RowLogits> RunWhole(Engine& engine,
                                              const proto::PackedSequence& sequence) {
  PlanMaker maker;
  maker.AddWhole(sequence);
  return engine.Run(maker.Take());
}

}  // namespace scorecast::testing
