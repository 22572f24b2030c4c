#include "proto/model/sentence_bert_file.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/key_tables.h"

namespace scorecast::proto {
namespace {

constexpr std::int64_t kMostBytes = 16 << 20;

constexpr std::array<std::string_view, 7> kSentenceBertNames = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

bool IsEmptyObject(const std::filesystem::path& path) {
  std::error_code no_matter;
  if (!std::filesystem::is_regular_file(path, no_matter)) {
    return false;
  }
  constexpr std::string_view kEmptyObject = "{}";
  std::ifstream file(path);
  std::string text;
  // Spaces are skipped.
  for (char c = 0; text.size() <= kEmptyObject.size() && file >> c;) {
    text += c;
  }
  return text == kEmptyObject;
}

}  // namespace

std::optional<std::filesystem::path> FindSentenceBertFile(const std::filesystem::path& model_dir) {
  std::optional<std::filesystem::path> found;
  for (const std::string_view name : kSentenceBertNames) {
    const std::filesystem::path file = model_dir / name;
    if (FileExists(file)) {
      found = file;
      if (!IsEmptyObject(file)) {
        break;
      }
    }
  }
  return found;
}

std::optional<SentenceBertFile> ReadSentenceBertFile(const std::filesystem::path& model_dir) {
  std::optional<std::filesystem::path> path = FindSentenceBertFile(model_dir);
  if (!path) {
    return std::nullopt;
  }
  Json root = ParseObject(ReadRegularFile(*path, kMostBytes), OneLinePath(path->string()));
  EraseRefused(root, kSentenceConfigKeys);
  return SentenceBertFile{*std::move(path), std::move(root)};
}

ConfigArguments ReadConfigArguments(const std::filesystem::path& model_dir) {
  ConfigArguments arguments;
  const std::optional<SentenceBertFile> file =
      FileExists(model_dir / "modules.json") ? ReadSentenceBertFile(model_dir) : std::nullopt;
  // The old name counts more.
  for (const std::string_view name : {"config_args", "config_kwargs"}) {
    const auto found = file ? file->root.find(name) : Json::const_iterator();
    if (!file || found == file->root.end()) {
      continue;
    }
    const KeyTable& keys = *FindRow(kSentenceConfigKeys, name, /*family=*/nullptr)->members;
    for (const auto& [argument, value] : found->items()) {
      if (FindRow(keys, argument, /*family=*/nullptr)->use == KeyUse::kFollowed) {
        arguments.fields[argument] = value;
        arguments.origin = std::string(name) + " of " + OneLinePath(file->path.string());
      }
    }
    break;
  }
  return arguments;
}

void ApplyConfigArguments(const ConfigArguments& arguments, Json& config) {
  config.update(arguments.fields);
  const auto count = arguments.fields.find("num_labels");
  const auto labels = config.find("id2label");
  if (count != arguments.fields.end() && labels != config.end() && *count != labels->size()) {
    config.erase(labels);
  }
}

}  // namespace scorecast::proto
