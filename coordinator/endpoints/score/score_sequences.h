#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/endpoints/score/score_checks.h"
#include "coordinator/endpoints/score/score_response.h"
#include "proto/base/error.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Makes the sequences of a score request, and says in its readout which rows they read. Of each
/// item the last row is read or, if the request is setwise, the row of each extraction token.
class ScoreSequences {
 public:
  /// `prefix` is what packed sequences begin with. Sequences share its tokens.
  ScoreSequences(const CheckedScore& checked, std::vector<TokenId> prefix, ScoreReadout& readout);

  /// Adds a sequence of `prompt` alone, which is the query and item `item`. Returns its fault.
  std::optional<proto::Error> AddPrompt(const std::vector<TokenId>& prompt, std::size_t item);

  /// Adds the prefix and `blocks`, which are the tokens of `items`: as one sequence or, if that
  /// can never be computed, as several that begin with the same prefix. An item without tokens is
  /// read at the last row of the prefix. The first sequence also reads that row if the readout has
  /// a `query_row`. Under SGLang's rules there is only one sequence. Returns a sequence's fault.
  std::optional<proto::Error> AddPacked(std::span<const std::vector<TokenId>> blocks,
                                        std::span<const std::size_t> items);

  std::vector<proto::PackedSequence> Take() && { return std::move(sequences_); }

 private:
  proto::RowRead Read(std::int32_t row, std::size_t label_list) const;
  /// Adds the reads of an item whose tokens begin at row `begin`, and whose last row is `last`.
  /// Returns the fault of an item without an extraction token.
  std::optional<proto::Error> AddItemReads(proto::PackedSequence& sequence, std::size_t item,
                                           std::span<const TokenId> tokens, std::int32_t begin,
                                           std::int32_t last, std::size_t label_list) const;
  /// Adds a sequence without faults. `counts` says how many of its last reads belong to each of
  /// `items`.
  void Add(proto::PackedSequence sequence, std::span<const std::size_t> items,
           std::span<const std::size_t> counts);

  const CheckedScore& checked_;
  const std::shared_ptr<const std::vector<TokenId>> prefix_;
  ScoreReadout& readout_;
  std::vector<proto::PackedSequence> sequences_;
  std::size_t item_rows_ = 0;
  bool is_prefix_counted_ = false;
};

}  // namespace scorecast::coordinator
