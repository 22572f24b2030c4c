#pragma once

#include <string_view>

#include "coordinator/text/tokenizer.h"
#include "proto/model/model_config.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// Reads the value of --multi-item-scoring-delimiter. A value of digits only is a token id. Any
/// other value is text, which must be the spelling of a special token or exactly one token. Throws
/// StartupError if it is neither, if it is text and `tokenizer` is null, or if the id is outside
/// the model's vocabulary.
TokenId DelimiterFromFlag(std::string_view value, const Tokenizer* tokenizer,
                          const proto::ModelConfig& config);

}  // namespace scorecast::coordinator
