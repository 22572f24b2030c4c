#pragma once

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/unicode/regex.h"

namespace scorecast::coordinator {

/// Reads a `pattern` of a tokenizer.json: {"String": …} or {"Regex": …}. Throws StartupError if it
/// is malformed or needs something that is not supported.
Regex ReadPattern(const JsonCursor& pattern);

}  // namespace scorecast::coordinator
