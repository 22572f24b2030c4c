#pragma once

#include "coordinator/json/json_text.h"
#include "coordinator/json/response_form.h"

namespace scorecast::coordinator {

/// The JSON Schema (2020-12) of a form of response bodies. Adds those of its objects to `schemas`,
/// and refers to them.
OrderedJson ResponseSchema(const ResponseForm& form, OrderedJson& schemas);

}  // namespace scorecast::coordinator
