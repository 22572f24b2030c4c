#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "launcher/commands/commands.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/model/model_config.h"
#include "proto/model/model_keys.h"

namespace scorecast::launcher {
namespace {

std::string UseText(const proto::KeyEntry& entry) {
  switch (entry.use) {
    case proto::KeyUse::kFollowed:
      return "followed";
    case proto::KeyUse::kNoEffect:
      return "no effect: " + entry.why;
    case proto::KeyUse::kRefused:
      return "refused: " + entry.why;
    case proto::KeyUse::kUnread:
      break;
  }
  return "read by nobody";
}

/// The number of characters of a text in UTF-8.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, Width(text)), ' ');
}

void PrintKeys(const proto::FileKeys& file) {
  std::printf("%s\n", file.file.c_str());
  if (!file.fault.empty()) {
    std::printf("  its keys are not known: %s\n", file.fault.c_str());
  }
  std::size_t keys = 0;
  std::size_t values = 0;
  for (const proto::KeyEntry& entry : file.entries) {
    keys = std::max(keys, Width(entry.key));
    values = std::max(values, Width(entry.value));
  }
  for (const proto::KeyEntry& entry : file.entries) {
    std::printf("  %s  %s  %s\n", Padded(entry.key, keys).c_str(),
                Padded(entry.value, values).c_str(), UseText(entry).c_str());
  }
}

bool Exists(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

/// What becomes of a file without a table of keys. As the libraries do, scorecast reads the files
/// of older tokenizers only if there is no newer one.
std::string UseOfFile(const std::filesystem::path& model_dir, const std::string& name) {
  const bool is_weights = name.ends_with(".safetensors") || name == "model.safetensors.index.json";
  if (is_weights || name == "chat_template.jinja") {
    return "followed";
  }
  if (name == "tokenizer.model" || name == "vocab.txt") {
    const bool is_older = Exists(model_dir / "tokenizer.json") ||
                          (name == "vocab.txt" && Exists(model_dir / "tokenizer.model"));
    return is_older ? "no effect: there is a newer file of the tokenizer" : "followed";
  }
  if (name == "merges.txt" || name == "vocab.json") {
    return "no effect: tokenizer.json has it";
  }
  return "read by nobody";
}

/// The files of the directory that are not among `known`, by name.
std::vector<std::string> OtherFiles(const std::filesystem::path& model_dir,
                                    const std::vector<proto::FileKeys>& known) {
  std::vector<std::string> names;
  std::error_code fault;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(model_dir, fault); !fault && entry != end;
       entry.increment(fault)) {
    std::error_code ignored;
    const std::string name = entry->path().filename().string();
    if (!entry->is_directory(ignored) &&
        std::ranges::find(known, name, &proto::FileKeys::file) == known.end()) {
      names.push_back(name);
    }
  }
  if (fault) {
    throw proto::StartupError(proto::OneLinePath(model_dir.string()) +
                              ": its files cannot be listed: " + fault.message());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

int RunInspectKeysCommand(const InspectFlags& flags) {
  const std::filesystem::path& model_dir = flags.engine.model;
  // The keys are printed first, also of a model that is refused.
  std::optional<proto::StartupError> refusal;
  try {
    proto::LoadModelConfig(model_dir, TaskFromFlag(flags.engine.task), IgnoredKeysOf(flags.engine));
  } catch (const proto::StartupError& error) {
    refusal = error;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(model_dir, ignored)) {
    const std::vector<proto::FileKeys> files = proto::ReadModelKeys(model_dir);
    for (const proto::FileKeys& file : files) {
      PrintKeys(file);
    }
    for (const std::string& name : OtherFiles(model_dir, files)) {
      std::printf("%s: %s\n", proto::OneLinePath(name).c_str(), UseOfFile(model_dir, name).c_str());
    }
    std::fflush(stdout);
  }
  if (refusal) {
    throw proto::StartupError(*refusal);
  }
  return kExitOk;
}

}  // namespace scorecast::launcher
