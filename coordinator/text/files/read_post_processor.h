#pragma once

#include <cstdint>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/steps/token_template.h"

namespace scorecast::coordinator {

/// Reads the `post_processor` of a tokenizer.json: ByteLevel, TemplateProcessing,
/// RobertaProcessing, BertProcessing, or a Sequence of them. `trim_offsets` and `add_prefix_space`
/// of a post-processor only change offsets. Throws StartupError if it is malformed, needs something
/// that is not supported, or names an id that is not below `vocab_size`.
TokenTemplate ReadPostProcessor(const JsonCursor& post_processor, std::int64_t vocab_size);

}  // namespace scorecast::coordinator
