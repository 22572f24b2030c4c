#include "coordinator/text/files/chat_template.h"

#include <optional>
#include <string_view>
#include <system_error>

#include "coordinator/text/files/model_file.h"

namespace scorecast::coordinator {
namespace {

void Append(std::string_view chat_template, std::string& text) {
  text += chat_template;
  text += '\0';
}

}  // namespace

void AppendChatTemplate(const JsonCursor& chat_template, std::string& text) {
  if (!chat_template.value().is_array()) {
    Append(chat_template.String(), text);
    return;
  }
  chat_template.ForEachElement(
      [&](const JsonCursor& entry) { Append(entry.At("template").String(), text); });
}

void AppendChatTemplateFiles(const std::filesystem::path& model_dir, std::string& text) {
  const std::filesystem::path jinja = model_dir / "chat_template.jinja";
  if (ModelFileExists(jinja)) {
    Append(ReadModelFile(jinja), text);
  }
  const std::filesystem::path json = model_dir / "chat_template.json";
  if (ModelFileExists(json)) {
    const nlohmann::json document = ParseJsonFile(ReadModelFile(json), json.string());
    const JsonCursor root(document, json.string());
    if (const std::optional<JsonCursor> chat_template = root.Find("chat_template")) {
      AppendChatTemplate(*chat_template, text);
    }
  }
  std::error_code none;  // The directory is usually absent.
  for (const auto& entry :
       std::filesystem::directory_iterator(model_dir / "additional_chat_templates", none)) {
    if (entry.path().extension() == ".jinja") {
      Append(ReadModelFile(entry.path()), text);
    }
  }
}

}  // namespace scorecast::coordinator
