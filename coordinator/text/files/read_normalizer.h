#pragma once

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/steps/normalizer.h"

namespace scorecast::coordinator {

/// Reads the `normalizer` of a tokenizer.json. Throws StartupError if it is malformed or needs
/// something that is not supported.
Normalizer ReadNormalizer(const JsonCursor& normalizer);

}  // namespace scorecast::coordinator
