#pragma once

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {

/// Changes a tokenizer.json to what `add_prefix_space` of tokenizer_config.json says: the option of
/// ByteLevel, and the `prepend_scheme` of Metaspace ("never", or "first" if it was "never"). If
/// false, the normalizer Prepend and the decoder that strips a space at the start are left out. A
/// part that has an unexpected form stays as it is, so that the reader of the part names the fault.
void SetAddPrefixSpace(bool add_prefix_space, nlohmann::json& document);

}  // namespace scorecast::coordinator
