#include "coordinator/resources/tokenizer_info.h"

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "coordinator/json/response_writer.h"
#include "coordinator/text/files/model_file.h"

namespace scorecast::coordinator {
namespace {

ResourceContent TokenizerInfo(const std::filesystem::path& model_dir) {
  const std::filesystem::path config = model_dir / "tokenizer_config.json";
  if (!ModelFileExists(config)) {
    return {.status = 404,
            .body = ErrorJson({404, "no_tokenizer_config",
                               "The model directory has no tokenizer_config.json.", ""})};
  }
  OrderedJson body = OrderedJson::parse(ReadModelFile(config));
  const std::filesystem::path chat_template = model_dir / "chat_template.jinja";
  if (!body.contains("chat_template") && ModelFileExists(chat_template)) {
    body["chat_template"] = ReadModelFile(chat_template);
  }
  return {.body = ToJsonText(body)};
}

}  // namespace

Resource TokenizerInfoResource(const std::filesystem::path& model_dir) {
  return {.path = "/tokenizer_info",
          .get = [content = TokenizerInfo(model_dir)] { return content; },
          .description = "The content of tokenizer_config.json."};
}

}  // namespace scorecast::coordinator
