#pragma once

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/read_model.h"

namespace scorecast::coordinator {

/// Reads a Unigram model. Throws StartupError if it is malformed or has no unknown token.
ReadModel ReadUnigramModel(const JsonCursor& model);

}  // namespace scorecast::coordinator
