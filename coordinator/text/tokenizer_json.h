#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// Makes the tokenizer that a tokenizer.json describes. Throws StartupError, one
/// line that names `origin` or the configuration's file, if the document is malformed or needs a
/// model, normalizer, pre-tokenizer, post-processor or decoder that is not supported.
std::unique_ptr<Tokenizer> ReadTokenizerJson(const nlohmann::json& document,
                                             const TokenizerConfig& config,
                                             const std::string& origin);

}  // namespace scorecast::coordinator
