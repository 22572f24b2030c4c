#pragma once

#include <filesystem>

#include "coordinator/resources/resource.h"

namespace scorecast::coordinator {

/// GET /tokenizer_info, as vLLM has it: the content of tokenizer_config.json. If that has no
/// `chat_template`, the text of chat_template.jinja is added. If the directory has no
/// tokenizer_config.json, a 404. If there is one, it is a JSON object, because loading the
/// tokenizer has checked it.
Resource TokenizerInfoResource(const std::filesystem::path& model_dir);

}  // namespace scorecast::coordinator
