#pragma once

#include <vector>

#include "proto/plan/packed_sequence.h"
#include "tests/coordinator/fake_cluster.h"

namespace scorecast::coordinator {

/// The `n` tokens that greedy decoding with FakeCluster's model adds to the last segment of a
/// sequence.
inline std::vector<proto::TokenId> GreedyCompletion(proto::PackedSequence sequence, std::size_t n,
                                                    std::int64_t vocab_size) {
  sequence.label_lists = {{}};
  std::vector<proto::TokenId> tokens;
  while (tokens.size() < n) {
    const auto row = static_cast<std::int32_t>(sequence.rows()) - 1;
    tokens.push_back(ExpectedRow(sequence, {row, 0, true, 1}, vocab_size).top.front().first);
    sequence.tokens.push_back(tokens.back());
    ++sequence.segments.back().length;
  }
  return tokens;
}

}  // namespace scorecast::coordinator
