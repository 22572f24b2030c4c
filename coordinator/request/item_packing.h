#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "proto/model/token_id.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// The layout of multi-item scoring: the prefix, which holds the query, then one block for each
/// item at positions P, P+1, … An item without tokens gets no block. Delimiters are not computed,
/// unless the caller puts the first one at the end of `prefix` (visibility `first`). Sets no reads;
/// see `LastRowOfEachItem`.
proto::PackedSequence PackItems(const std::vector<proto::TokenId>& prefix,
                                std::span<const std::vector<proto::TokenId>> items);

/// Makes the tokens of `prefix`, with which the sequence begins, shared ones.
void SharePrefix(proto::PackedSequence& sequence,
                 const std::shared_ptr<const std::vector<proto::TokenId>>& prefix);

/// A sequence of one prefix, `prompt`. It shares the tokens of `query` that `prompt` begins or ends
/// with. Sets no reads.
proto::PackedSequence PackPrompt(const std::vector<proto::TokenId>& prompt,
                                 const std::shared_ptr<const std::vector<proto::TokenId>>& query);

/// The row to read for each item in a sequence made by `PackItems`: its last row or, for an item
/// without tokens, the last row of the prefix. `prefix_length` must be at least 1.
std::vector<std::int32_t> LastRowOfEachItem(std::int32_t prefix_length,
                                            std::span<const std::vector<proto::TokenId>> items);

}  // namespace scorecast::coordinator
