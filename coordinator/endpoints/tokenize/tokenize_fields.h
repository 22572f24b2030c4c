#pragma once

#include "coordinator/json/field_table.h"

namespace scorecast::coordinator {

// The bodies of /tokenize and /detokenize. Which form a body has is told by the field with its
// input.

extern const FieldTable kTokenizePromptFields;    ///< vLLM's: `prompt`.
extern const FieldTable kTokenizeInputsFields;    ///< TEI's: `inputs`.
extern const FieldTable kDetokenizeTokensFields;  ///< vLLM's: `tokens`.
extern const FieldTable kDetokenizeIdsFields;     ///< TEI's: `ids`.

}  // namespace scorecast::coordinator
