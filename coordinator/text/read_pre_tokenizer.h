#pragma once

#include "coordinator/text/json_cursor.h"
#include "coordinator/text/pre_tokenizer.h"

namespace scorecast::coordinator {

/// Reads the `pre_tokenizer` of a tokenizer.json: ByteLevel, or a Sequence of Split and Digits
/// steps that ends with ByteLevel. Throws StartupError if it is malformed or needs something that
/// is not supported.
PreTokenizer ReadPreTokenizer(const JsonCursor& pre_tokenizer);

}  // namespace scorecast::coordinator
