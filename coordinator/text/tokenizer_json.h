#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/text/tokenizer.h"
#include "coordinator/text/tokenizer_config.h"

namespace scorecast::coordinator {

/// Makes the tokenizer of a tokenizer.json: byte-level BPE. Throws StartupError (one line that
/// names `origin`, or the configuration's) where the document is broken, or asks for a model,
/// normalizer, pre-tokenizer, post-processor or decoder that is not supported.
std::unique_ptr<Tokenizer> ReadTokenizerJson(const nlohmann::json& document,
                                             const TokenizerConfig& config,
                                             const std::string& origin);

/// Whether the document describes a SentencePiece model (Unigram, or BPE that falls back to bytes),
/// which is better read from the tokenizer.model it was made of.
bool IsSentencePieceConversion(const nlohmann::json& document);

}  // namespace scorecast::coordinator
