#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/request/values.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The tokens whose probabilities a request wants.
struct LabelLists {
  bool per_item = false;
  std::vector<std::vector<TokenId>> lists;  ///< One list, or with `per_item` one for each item.
};

/// Returns the labels of a request with `num_items` items, which are given by id or by text. A 400
/// unless exactly one of the two is given, and each list has at least one label, no duplicates, and
/// only ids in [0, vocab_size). `tokenizer` may be null.
proto::Expected<LabelLists> ResolveLabels(const std::optional<LabelTokenIds>& label_token_ids,
                                          const std::optional<std::vector<std::string>>& labels,
                                          std::size_t num_items, const Tokenizer* tokenizer,
                                          std::int64_t vocab_size);

}  // namespace scorecast::coordinator
