#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/text/tokenizer.h"
#include "coordinator/text/tokenizer_config.h"

namespace scorecast::coordinator {

/// Makes the byte-level BPE tokenizer that a tokenizer.json describes. Throws StartupError, one
/// line that names `origin` or the configuration's file, if the document is malformed or needs a
/// model, normalizer, pre-tokenizer, post-processor or decoder that is not supported.
std::unique_ptr<Tokenizer> ReadTokenizerJson(const nlohmann::json& document,
                                             const TokenizerConfig& config,
                                             const std::string& origin);

/// Whether the document describes a SentencePiece model (Unigram, or BPE with byte fallback). Such
/// a model is better read from the tokenizer.model from which the document was converted.
bool IsSentencePieceConversion(const nlohmann::json& document);

}  // namespace scorecast::coordinator
