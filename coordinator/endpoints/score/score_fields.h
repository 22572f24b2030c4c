#pragma once

#include "coordinator/json/field_table.h"

namespace scorecast::coordinator {

/// The body of /v1/score as SGLang has it.
extern const FieldTable kScoreFields;

}  // namespace scorecast::coordinator
