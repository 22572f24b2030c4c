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

std::string ApplyConfigArguments(const std::filesystem::path& model_dir, const std::string& origin,
                                 Json& config) {
  const std::optional<SentenceBertFile> file =
      FileExists(model_dir / "modules.json") ? ReadSentenceBertFile(model_dir) : std::nullopt;
  if (!file) {
    return origin;
  }
  const Json* arguments = nullptr;
  std::string_view name;
  for (const std::string_view one : {"config_kwargs", "config_args"}) {
    const auto found = file->root.find(one);
    if (found != file->root.end()) {
      name = one;
      arguments = found->is_null() ? nullptr : &*found;
    }
  }
  if (arguments == nullptr) {
    return origin;
  }
  const KeyTable& keys = *FindRow(kSentenceConfigKeys, name, /*family=*/nullptr)->members;
  std::string described = origin;
  for (const auto& [argument, value] : arguments->items()) {
    if (FindRow(keys, argument, /*family=*/nullptr)->use != KeyUse::kFollowed) {
      continue;
    }
    config[argument] = value;
    const auto labels = config.find("id2label");
    if (argument == "num_labels" && labels != config.end() && value != labels->size()) {
      config.erase(labels);
    }
    described =
        origin + " with the " + std::string(name) + " of " + OneLinePath(file->path.string());
  }
  return described;
}

}  // namespace scorecast::proto
