#pragma once

#include <string_view>

#include "proto/model/key_table.h"

namespace scorecast::proto {

// What becomes of the keys of each file in a model's directory: every key that transformers 5.24
// and sentence-transformers 6.2 read for the families in families.h.

extern const KeyTable kConfigKeys;

extern const KeyTable kTokenizerConfigKeys;
extern const KeyTable kTokenizerKeys;
extern const KeyTable kSpecialTokensMapKeys;
extern const KeyTable kAddedTokensKeys;
extern const KeyTable kChatTemplateKeys;

extern const KeyTable kSentenceConfigKeys;       ///< sentence_bert_config.json
extern const KeyTable kSentenceConfigAloneKeys;  ///< The same, if there is no modules.json.
/// `processing_kwargs.chat_template` there. Other keys are variables of the template.
extern const KeyTable kChatArgumentKeys;
extern const KeyTable kSentenceOptionsKeys;  ///< config_sentence_transformers.json
extern const KeyTable kModuleListKeys;       ///< modules.json

/// The keys of the config.json of a module; null if its type, of which this is the last part, is
/// not known.
const KeyTable* FindModuleKeys(std::string_view type);

extern const KeyTable kGenerationConfigKeys;
extern const KeyTable kAdapterConfigKeys;

}  // namespace scorecast::proto
