#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/request/values.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"
#include "proto/model/model_config.h"
#include "proto/model/token_id.h"
#include "proto/plan/label_list.h"

namespace scorecast::coordinator {

/// The tokens whose probabilities a request wants, or the classes of a classifier.
struct LabelLists {
  bool per_item = false;
  std::vector<proto::LabelList> lists;  ///< One list, or with `per_item` one for each item.
};

/// Returns the labels of a request with `num_items` items, which are given by id or by text. A 400
/// unless exactly one of the two is given, and each list has at least one label, no duplicates, and
/// only ids in [0, vocab_size). For a classifier, returns all classes, and a 400 if labels are
/// given. `tokenizer` may be null. `interruption` is looked at while texts are encoded; it may be
/// null. `otherwise` says in a fault, behind a comma, what else the request could give.
proto::Expected<LabelLists> ResolveLabels(const GivenLabels& given, std::size_t num_items,
                                          const Tokenizer* tokenizer,
                                          const proto::ModelConfig& config,
                                          const Interruption* interruption = nullptr,
                                          const std::string& otherwise = {});

/// Returns the id of a token of the model's vocabulary that `field` of a request names, by its id
/// or by its text inside a longer one. A 400 if its text is not exactly one token, or its id is not
/// in [0, vocab_size). `tokenizer` and `interruption` may be null, as above.
proto::Expected<TokenId> ResolveToken(const TextOrId& token, const std::string& field,
                                      const Tokenizer* tokenizer, const proto::ModelConfig& config,
                                      const Interruption* interruption = nullptr);

}  // namespace scorecast::coordinator
