#pragma once

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/steps/pre_tokenizer.h"

namespace scorecast::coordinator {

/// Reads the `pre_tokenizer` of a tokenizer.json. Throws StartupError if it is malformed or needs
/// something that is not supported, such as a step after ByteLevel.
PreTokenizer ReadPreTokenizer(const JsonCursor& pre_tokenizer);

}  // namespace scorecast::coordinator
