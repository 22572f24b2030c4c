#pragma once

#include <optional>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/steps/decoder.h"

namespace scorecast::coordinator {

/// Reads the `decoder` of a tokenizer.json; without one, spaces stand between tokens. Throws
/// StartupError if it is malformed or needs something that is not supported. The text of a token
/// must not depend on tokens far away. So after the tokens are joined, one space at the beginning
/// may be removed, but no other change is supported.
Decoder ReadDecoder(const std::optional<JsonCursor>& decoder);

}  // namespace scorecast::coordinator
