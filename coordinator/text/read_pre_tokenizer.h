#pragma once

#include "coordinator/text/json_cursor.h"
#include "coordinator/text/pre_tokenizer.h"

namespace scorecast::coordinator {

/// Reads the `pre_tokenizer` of a tokenizer.json: ByteLevel, or a Sequence of Split and Digits that
/// ends with it. Throws StartupError where it is broken or asks for something else.
PreTokenizer ReadPreTokenizer(const JsonCursor& pre_tokenizer);

}  // namespace scorecast::coordinator
