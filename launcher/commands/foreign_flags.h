#pragma once

#include <string>
#include <string_view>

namespace scorecast::launcher {

/// What to do instead of giving a flag of SGLang, vLLM or text-embeddings-inference that this
/// program does not have: part of a sentence. Empty for other flags.
std::string HintForFlag(std::string_view flag);

}  // namespace scorecast::launcher
