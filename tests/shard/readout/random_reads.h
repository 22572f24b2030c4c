#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "tests/shard/random_floats.h"

namespace scorecast::testing {

/// A place among logits of up to about 15.
inline proto::TokenPlace RandomPlace(std::mt19937& random, std::int32_t vocab_size) {
  return {static_cast<float>(RandomInt(random, -15, 15)), RandomInt(random, 0, vocab_size)};
}

/// A plan that has `reads` reads and nothing else. Some have a normalizer, and some of these also
/// the best tokens, draws, masses, a temperature, a target or its rank, or exclude their labels.
/// Label lists have any length and order; some are shared, and ids occur in several lists.
inline proto::ForwardPlan RandomReads(std::mt19937& random, std::int32_t reads,
                                      std::int32_t vocab_size) {
  proto::ForwardPlan plan;
  for (int lists = RandomInt(random, 1, 5); lists > 0; --lists) {
    std::vector<proto::TokenId> ids(static_cast<std::size_t>(vocab_size));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), random);
    ids.resize(static_cast<std::size_t>(
        RandomInt(random, 1, std::min<std::int32_t>(vocab_size, lists == 1 ? vocab_size : 8))));
    plan.label_lists.push_back(ids);
  }
  for (std::int32_t i = 0; i < reads; ++i) {
    const bool normalizer = RandomInt(random, 0, 2) != 0;
    plan.reads.push_back(
        {i, RandomInt(random, 0, static_cast<std::int32_t>(plan.label_lists.size()) - 1),
         normalizer, normalizer ? RandomInt(random, 0, 1) * RandomInt(random, 1, 50) : 0});
    proto::PlanRead& read = plan.reads.back();
    if (normalizer && RandomInt(random, 0, 1) == 0) {
      read.draw = {random(), static_cast<std::uint32_t>(random())};
      read.draw->count = RandomInt(random, 1, proto::Draw::kMostTokens);
      if (RandomInt(random, 0, 2) == 0) {
        read.draw->end = RandomPlace(random, vocab_size);
      }
    }
    read.bin_width = normalizer && RandomInt(random, 0, 1) == 0 ? 0.0625F : 0;
    for (int places = normalizer ? RandomInt(random, -3, 4) : 0; places > 0; --places) {
      read.masses.places.push_back(RandomPlace(random, vocab_size));
    }
    read.masses.max = 20;
    if (normalizer && RandomInt(random, 0, 1) == 0) {
      read.temperature = static_cast<float>(RandomInt(random, 1, 30)) / 10;
    }
    if (normalizer && RandomInt(random, 0, 1) == 0) {
      read.target = RandomInt(random, 0, vocab_size - 1);
      read.ranks_target = RandomInt(random, 0, 1) == 0;
    }
    read.excludes_labels = normalizer && RandomInt(random, 0, 2) == 0;
  }
  return plan;
}

/// The tokens of a range that count for a read's maximum, sum, best tokens and draw.
inline std::vector<proto::TokenId> CountedIds(const proto::LabelList& labels,
                                              const proto::PlanRead& read, proto::Range range) {
  std::vector<proto::TokenId> all(static_cast<std::size_t>(range.size()));
  std::iota(all.begin(), all.end(), static_cast<proto::TokenId>(range.begin));
  if (!read.excludes_labels) {
    return all;
  }
  std::vector<proto::TokenId> excluded(labels.begin(), labels.end());
  std::ranges::sort(excluded);
  std::vector<proto::TokenId> ids;
  std::ranges::set_difference(all, excluded, std::back_inserter(ids));
  return ids;
}

/// [0, vocab_size) cut at random places into one range for each rank; some are empty.
inline std::vector<proto::Range> RandomSplit(std::mt19937& random, std::int32_t vocab_size,
                                             int ranks) {
  std::vector<std::int64_t> cuts = {0, vocab_size};
  for (int rank = 1; rank < ranks; ++rank) {
    cuts.push_back(RandomInt(random, 0, 3) == 0 ? cuts.back() : RandomInt(random, 0, vocab_size));
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<proto::Range> ranges;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    ranges.push_back({cuts[i], cuts[i + 1]});
  }
  return ranges;
}

}  // namespace scorecast::testing
