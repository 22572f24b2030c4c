#pragma once

#include "coordinator/json/body_form.h"
#include "coordinator/json/json_text.h"

namespace scorecast::coordinator {

/// The JSON Schema of a text that may be given as an object, which the document has as "Document".
OrderedJson DocumentSchema();

/// The JSON Schema (2020-12) of a form of request bodies. Fields that are ignored are allowed;
/// parameters that are refused have their neutral values.
OrderedJson SchemaOf(const BodyForm& form);

}  // namespace scorecast::coordinator
