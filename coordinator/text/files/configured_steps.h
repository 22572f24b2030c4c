#pragma once

#include <nlohmann/json.hpp>

#include "coordinator/text/files/tokenizer_config.h"

namespace scorecast::coordinator {

// Each function changes the steps of a tokenizer.json to what a configuration says. A part that has
// an unexpected form stays as it is, so that the reader of the part names the fault.

/// `add_prefix_space` of tokenizer_config.json: the option of ByteLevel, and the `prepend_scheme`
/// of Metaspace ("never", or "first" if it was "never"). If false, the normalizer Prepend and the
/// decoder that strips a space at the start are left out.
void SetAddPrefixSpace(bool add_prefix_space, nlohmann::json& document);

/// The switches of BERT's classes: the options of BertNormalizer, where absent switches have the
/// values of the class. A WordPiece tokenizer with other normalizers gets a BertNormalizer behind
/// them for the switches that are on. Throws StartupError if a switch is off whose step is there.
void SetBertSwitches(const TokenizerConfig& config, nlohmann::json& document);

}  // namespace scorecast::coordinator
