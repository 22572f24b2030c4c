#pragma once

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/read_model.h"

namespace scorecast::coordinator {

/// Reads a BPE model. Merges may be written as "a b" or as ["a", "b"]. Throws StartupError if it is
/// malformed, or if it needs dropout or prefixes of words' parts.
ReadModel ReadBpeModel(const JsonCursor& model, bool is_byte_level);

}  // namespace scorecast::coordinator
