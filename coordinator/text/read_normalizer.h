#pragma once

#include "coordinator/text/json_cursor.h"
#include "coordinator/text/normalizer.h"

namespace scorecast::coordinator {

/// Reads the `normalizer` of a tokenizer.json. Throws StartupError if it is malformed or needs
/// something that is not supported.
Normalizer ReadNormalizer(const JsonCursor& normalizer);

}  // namespace scorecast::coordinator
