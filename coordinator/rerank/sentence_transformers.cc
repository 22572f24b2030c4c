#include "coordinator/rerank/sentence_transformers.h"

#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

/// Calls `read` with the root of a JSON file, if the file exists.
template <typename Read>
void ReadFile(const std::filesystem::path& file, const Read& read) {
  if (ModelFileExists(file)) {
    const nlohmann::json document = ParseJsonFile(ReadModelFile(file), file.string());
    read(JsonCursor(document, file.string()));
  }
}

proto::TokenId ReadId(const JsonCursor& value, const proto::ModelConfig& config) {
  return static_cast<proto::TokenId>(value.Integer(0, config.vocab_size - 1));
}

std::string ReadText(const JsonCursor& object, std::string_view name) {
  const std::optional<JsonCursor> value = object.Find(name);
  return value ? value->String() : std::string();
}

}  // namespace

CrossEncoderFiles ReadCrossEncoderFiles(const std::filesystem::path& model_dir,
                                        const proto::ModelConfig& config) {
  CrossEncoderFiles files;
  std::optional<std::string> folder;
  ReadFile(model_dir / "modules.json", [&](const JsonCursor& root) {
    files.has_other_modules = true;
    root.ForEachElement([&](const JsonCursor& module) {
      if (module.At("type").String().ends_with(".LogitScore")) {
        folder = module.At("path").String();
        files.has_other_modules = false;
      }
    });
  });
  if (folder) {
    const std::filesystem::path name = std::filesystem::path(*folder) / "config.json";
    if (!ModelFileExists(model_dir / name)) {
      throw proto::StartupError((model_dir / name).string() +
                                " does not exist, but modules.json names its folder");
    }
    ReadFile(model_dir / name, [&](const JsonCursor& root) {
      CrossEncoderFiles::LogitScore score{.file = name.string()};
      score.true_token = ReadId(root.At("true_token_id"), config);
      if (const std::optional<JsonCursor> id = root.Find("false_token_id")) {
        score.false_token = ReadId(*id, config);
        if (*score.false_token == score.true_token) {
          id->Fail("is the same as true_token_id");
        }
      }
      files.activation = ReadText(root, "activation_fn");
      files.activation_file = files.activation.empty() ? "" : score.file;
      files.logit_score = std::move(score);
    });
  }
  const auto read_activation = [&](const JsonCursor& object, std::string_view name,
                                   std::string_view file) {
    const std::string activation = ReadText(object, name);
    if (files.activation.empty() && !activation.empty()) {
      files.activation = activation;
      files.activation_file = file;
    }
  };
  constexpr std::string_view kConfig = "config_sentence_transformers.json";
  ReadFile(model_dir / kConfig, [&](const JsonCursor& root) {
    files.is_cross_encoder = (files.has_other_modules || files.logit_score) &&
                             ReadText(root, "model_type") == "CrossEncoder";
    read_activation(root, "activation_fn", kConfig);
    const std::string prompt = ReadText(root, "default_prompt_name");
    const std::optional<JsonCursor> prompts = root.Find("prompts");
    if (!prompt.empty() && prompts) {
      files.instruction = ReadText(*prompts, prompt);
    }
    if (!prompt.empty() && files.is_cross_encoder && !(prompts && prompts->Find(prompt))) {
      root.At("default_prompt_name").Fail("names no prompt");
    }
  });
  ReadFile(model_dir / "config.json", [&](const JsonCursor& root) {
    files.is_old_cross_encoder = root.Find("sentence_transformers").has_value() ||
                                 root.Find("sbert_ce_default_activation_function").has_value();
    if (const std::optional<JsonCursor> member = root.Find("sentence_transformers")) {
      read_activation(*member, "activation_fn", "config.json");
    }
    // The name before version 4.
    read_activation(root, "sbert_ce_default_activation_function", "config.json");
  });
  return files;
}

}  // namespace scorecast::coordinator
