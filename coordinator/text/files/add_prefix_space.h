#pragma once

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {

/// Changes a tokenizer.json to what `add_prefix_space` of tokenizer_config.json says: the option of
/// ByteLevel, the `prepend_scheme` of Metaspace ("never", or "first" if it was "never"), and, if
/// false, the normalizer Prepend and the decoder that strips a space at the start are left out.
/// Whatever is not of the expected kind stays as it is, so that reading it names the fault.
void SetAddPrefixSpace(bool add_prefix_space, nlohmann::json& document);

}  // namespace scorecast::coordinator
