#pragma once

#include <filesystem>
#include <string>

#include "coordinator/text/files/json_cursor.h"

namespace scorecast::coordinator {

/// Appends the text of a `chat_template` of a tokenizer_config.json or chat_template.json: a
/// template, or a list of objects with a `name` and a `template`. Throws StartupError if it is
/// malformed. Templates are separated by zero bytes.
void AppendChatTemplate(const JsonCursor& chat_template, std::string& text);

/// Appends the text of all templates that have files of their own: chat_template.jinja,
/// additional_chat_templates/*.jinja and chat_template.json.
void AppendChatTemplateFiles(const std::filesystem::path& model_dir, std::string& text);

}  // namespace scorecast::coordinator
