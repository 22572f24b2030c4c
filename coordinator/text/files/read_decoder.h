#pragma once

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/steps/decoder.h"

namespace scorecast::coordinator {

/// Reads the `decoder` of a tokenizer.json. Throws StartupError if it is malformed or needs
/// something that is not supported. Among that is what would make the text of a token depend on
/// tokens far away: after the tokens were joined, one space at the beginning may be removed, but
/// nothing else changes.
Decoder ReadDecoder(const JsonCursor& decoder);

}  // namespace scorecast::coordinator
