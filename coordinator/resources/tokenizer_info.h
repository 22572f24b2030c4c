#pragma once

#include <filesystem>

#include "coordinator/resources/resource.h"

namespace scorecast::coordinator {

/// GET /tokenizer_info, as vLLM has it: the content of tokenizer_config.json. If that has no
/// `chat_template`, the text of chat_template.jinja is added. A 404 if the directory has no
/// tokenizer_config.json. The file has been read before, as a part of the tokenizer, so it is an
/// object.
Resource TokenizerInfoResource(const std::filesystem::path& model_dir);

}  // namespace scorecast::coordinator
