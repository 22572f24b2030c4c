#include "coordinator/text/files/sentence_bert_config.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "coordinator/text/files/model_file.h"
#include "proto/model/sentence_bert_file.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

bool IsLowercase(const json& step) {
  return step.is_object() && step.contains("type") && step["type"] == "Lowercase";
}

}  // namespace

SentenceBertConfig LoadSentenceBertConfig(const std::filesystem::path& model_dir) {
  SentenceBertConfig config;
  std::optional<proto::SentenceBertFile> file = proto::ReadSentenceBertFile(model_dir);
  if (!file) {
    return config;
  }
  config.origin = file->path.string();
  config.root = std::move(file->root);
  config.is_of_modules = ModelFileExists(model_dir / "modules.json");
  const JsonCursor root(config.root, config.origin);
  if (const std::optional<JsonCursor> length = root.Find("max_seq_length")) {
    config.max_seq_length = ReadLength(*length);
  }
  config.do_lower_case = root.Flag("do_lower_case", false);
  for (const std::string_view name : {"processor_kwargs", "tokenizer_args"}) {
    if (const std::optional<JsonCursor> arguments = root.Find(name);
        arguments && config.is_of_modules) {
      config.processor_kwargs = arguments->value();
    }
  }
  return config;
}

std::optional<JsonFile> ReadTokenizerConfigFile(const std::filesystem::path& model_dir) {
  const std::filesystem::path file = model_dir / "tokenizer_config.json";
  const SentenceBertConfig sentence = LoadSentenceBertConfig(model_dir);
  const bool is_there = ModelFileExists(file);
  if (!is_there && sentence.processor_kwargs.empty()) {
    return std::nullopt;
  }
  JsonFile config = {.root = json::object(), .origin = file.string()};
  if (is_there) {
    config.root = ParseJsonFile(ReadModelFile(file), config.origin);
  }
  if (!sentence.processor_kwargs.empty()) {
    if (!config.root.is_object()) {
      JsonCursor(config.root, config.origin).Fail("not an object");
    }
    config.root.update(sentence.processor_kwargs);
    config.origin += " with the processor_kwargs of " + sentence.origin;
  }
  return config;
}

std::int64_t ReadLength(const JsonCursor& length) {
  if (!length.value().is_number()) {
    length.Fail("not a number");
  }
  const double value = length.value().get<double>();
  if (value < 1) {
    length.Fail("must be at least 1");
  }
  constexpr double kMost = 1e15;
  return static_cast<std::int64_t>(std::min(value, kMost));
}

void PutLowercaseFirst(json& document) {
  if (!document.is_object()) {
    return;
  }
  json& normalizer = document["normalizer"];
  if (IsLowercase(normalizer)) {
    return;
  }
  json steps = json::array();
  const bool is_sequence = normalizer.is_object() && normalizer.contains("type") &&
                           normalizer["type"] == "Sequence" && normalizer.contains("normalizers") &&
                           normalizer["normalizers"].is_array();
  if (is_sequence) {
    steps = normalizer["normalizers"];
  } else if (!normalizer.is_null()) {
    steps.push_back(normalizer);
  }
  if (std::ranges::none_of(steps, IsLowercase)) {
    steps.insert(steps.begin(), json{{"type", "Lowercase"}});
    normalizer = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  }
}

}  // namespace scorecast::coordinator
