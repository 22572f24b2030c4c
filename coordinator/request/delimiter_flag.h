#pragma once

#include <string_view>

#include "coordinator/text/tokenizer.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// The value of --multi-item-scoring-delimiter: all digits is an id, all else is text that must be
/// the spelling of a special token or exactly one token. Throws StartupError where it is neither,
/// there is no tokenizer for text (`tokenizer` is null), or the id is outside the model's
/// vocabulary.
TokenId DelimiterFromFlag(std::string_view value, const Tokenizer* tokenizer,
                          const proto::ModelConfig& config);

}  // namespace scorecast::coordinator
