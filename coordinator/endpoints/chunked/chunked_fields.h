#pragma once

#include "coordinator/json/field_table.h"

namespace scorecast::coordinator {

/// The body of /v1/chunked.
extern const FieldTable kChunkedFields;

}  // namespace scorecast::coordinator
