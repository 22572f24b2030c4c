#include "proto/model/model_keys.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/generation_config.h"
#include "proto/model/key_tables.h"
#include "proto/model/sentence_bert_file.h"

namespace scorecast::proto {
namespace {

constexpr std::int64_t kMaxKeyFileBytes = 16 << 20;
constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kTokenizerFile = "tokenizer.json";
constexpr std::string_view kGenerationKeyFile = "generation_config.json";
constexpr std::string_view kModuleListFile = "modules.json";

/// A file with a table.
struct TableFile {
  std::string name;
  const KeyTable* keys;
};

const Family* FindFamily(std::string_view model_type) {
  const auto* const found = std::ranges::find(kFamilies, model_type, &Family::model_type);
  return found == kFamilies.end() ? nullptr : found;
}

/// The family that a config.json names by its type or by its architecture; null if there is none.
const Family* FamilyOf(const Json& config) {
  const auto type = config.find("model_type");
  if (type != config.end() && type->is_string()) {
    return FindFamily(type->get_ref<const std::string&>());
  }
  const auto names = config.find("architectures");
  if (names == config.end() || !names->is_array() || names->empty()) {
    return nullptr;
  }
  const Json& name = names->front();
  const auto* const found = std::ranges::find_if(kFamilies, [&](const Family& family) {
    return name == family.language_model || name == family.classifier ||
           name == family.base_model || name == family.masked_language_model;
  });
  return found == kFamilies.end() ? nullptr : found;
}

/// The config.json of the modules that have folders of their own. Faults of modules.json are left
/// to whoever reads it.
std::vector<TableFile> ModuleFiles(const std::filesystem::path& model_dir) {
  std::vector<TableFile> files;
  const Json root = Json::parse(ReadRegularFile(model_dir / kModuleListFile, kMaxKeyFileBytes),
                                /*cb=*/nullptr, /*allow_exceptions=*/false);
  const auto text = [](const Json& module, const char* name) {
    const auto found = module.find(name);
    return found != module.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (std::size_t i = 0; root.is_array() && i < root.size(); ++i) {
    const std::string type = text(root[i], "type");
    const std::filesystem::path path = text(root[i], "path");
    const KeyTable* keys = FindModuleKeys(std::string_view(type).substr(type.rfind('.') + 1));
    const bool is_inside =
        !path.empty() && !path.is_absolute() &&
        std::ranges::none_of(path, [](const auto& part) { return part == ".."; });
    if (is_inside && keys != nullptr) {
      files.push_back({(path / "config.json").string(), keys});
    }
  }
  return files;
}

/// The files in the directory that have tables, in the order of messages.
std::vector<TableFile> FindTableFiles(const std::filesystem::path& model_dir, bool has_modules) {
  std::vector<TableFile> files;
  const auto add = [&](const std::string& name, const KeyTable& keys) {
    const bool exists = FileExists(model_dir / name);
    if (exists) {
      files.push_back({name, &keys});
    }
    return exists;
  };
  add(std::string(kConfigFile), kConfigKeys);
  add(std::string(kGenerationKeyFile), kGenerationConfigKeys);
  add("tokenizer_config.json", kTokenizerConfigKeys);
  add(std::string(kTokenizerFile), kTokenizerKeys);
  add("special_tokens_map.json", kSpecialTokensMapKeys);
  add("added_tokens.json", kAddedTokensKeys);
  add("chat_template.json", kChatTemplateKeys);
  if (const std::optional<std::filesystem::path> file = FindSentenceBertFile(model_dir)) {
    add(file->filename().string(),
        FileExists(model_dir / kModuleListFile) ? kSentenceConfigKeys : kSentenceConfigAloneKeys);
  }
  add("config_sentence_transformers.json", kSentenceOptionsKeys);
  add("adapter_config.json", kAdapterConfigKeys);
  if (has_modules && add(std::string(kModuleListFile), kModuleListKeys)) {
    for (const TableFile& file : ModuleFiles(model_dir)) {
      add(file.name, *file.keys);
    }
  }
  return files;
}

/// The values of a tokenizer.json, and the members of its objects, without what is in these: a
/// vocabulary may be large.
Json ParseTokenizerFile(std::string_view text, const std::string& where) {
  const auto keeps = [](int depth, Json::parse_event_t event, const Json& /*value*/) {
    const bool begins =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    return depth <= (begins ? 1 : 2);
  };
  Json root = Json::parse(text, keeps, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    throw StartupError(where + ": not a JSON object");
  }
  return root;
}

Json ReadKeyFile(const std::filesystem::path& model_dir, const TableFile& file) {
  const std::filesystem::path path = model_dir / file.name;
  const std::string where = OneLinePath(path.string());
  if (file.name == kTokenizerFile) {
    return ParseTokenizerFile(ReadRegularFile(path), where);
  }
  const std::string text = ReadRegularFile(path, kMaxKeyFileBytes);
  return file.name == kModuleListFile ? ParseList(text, where) : ParseObject(text, where);
}

/// A value in few characters, e.g. `["BertModel"]`. Of an object or list in another one, only that
/// it is one.
std::string Shortened(const Json& value, bool is_inner = false) {
  constexpr std::size_t kMost = 40;
  if (!value.is_structured() || value.empty() || is_inner) {
    return value.is_string() ? Quoted(value.get_ref<const std::string&>(), kMost) : Shown(value);
  }
  std::string text;
  for (const auto& [key, member] : value.items()) {
    text += (text.empty() ? "" : ", ") +
            (value.is_object() ? OneLine(key, kMost) + ": " : std::string()) +
            Shortened(member, /*is_inner=*/true);
    if (text.size() > kMost) {
      break;
    }
  }
  return (value.is_object() ? "{" : "[") + OneLine(text, kMost) + (value.is_object() ? "}" : "]");
}

std::vector<KeyEntry> EntriesOf(const Json& root, const TableFile& file, const Family* family) {
  std::vector<KeyEntry> entries;
  ForEachKey(root, *file.keys, family,
             [&](const std::string& path, const Json& value, const KeyRow& row) {
               KeyFinding finding = Judge(row, path, value);
               entries.push_back({path, Shortened(value), finding.use, std::move(finding.why)});
             });
  return entries;
}

/// Notes what LoadGenerationConfig finds, too: values out of range.
void NoteUnsupported(const std::filesystem::path& model_dir, std::vector<KeyEntry>& entries) {
  for (const GenerationConfig::Unsupported& one : LoadGenerationConfig(model_dir).unsupported) {
    const auto entry = std::ranges::find(entries, one.key, &KeyEntry::key);
    if (entry != entries.end()) {
      entry->use = KeyUse::kRefused;
      entry->why = one.why;
    }
  }
}

std::string FlagText(const IgnoredKey& key) {
  return "--ignore-config-key " + OneLinePath(key.file) + ":" + OneLine(key.key) + ": ";
}

/// Throws StartupError unless the key is refused.
void CheckIgnored(const IgnoredKey& ignored, std::span<const FileKeys> files) {
  const auto file = std::ranges::find(files, ignored.file, &FileKeys::file);
  if (file == files.end()) {
    throw StartupError(FlagText(ignored) +
                       "the model's directory has no file of this name whose keys are checked");
  }
  const auto entry = std::ranges::find(file->entries, ignored.key, &KeyEntry::key);
  if (entry == file->entries.end()) {
    throw StartupError(FlagText(ignored) + "the file has no such key");
  }
  switch (entry->use) {
    case KeyUse::kFollowed:
      throw StartupError(FlagText(ignored) + "the key is followed");
    case KeyUse::kNoEffect:
      throw StartupError(FlagText(ignored) + "the key has no effect: " + entry->why);
    case KeyUse::kUnread:
      throw StartupError(FlagText(ignored) + "nobody reads the key");
    case KeyUse::kRefused:
      break;
  }
}

}  // namespace

IgnoredKey IgnoredKeyFromText(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    throw StartupError("--ignore-config-key " + Quoted(text) +
                       ": it must be FILE:KEY, e.g. config.json:attention_multiplier");
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::vector<FileKeys> ReadModelKeys(const std::filesystem::path& model_dir) {
  const Family* family = nullptr;
  std::vector<FileKeys> result;
  for (const TableFile& file : FindTableFiles(model_dir, /*has_modules=*/true)) {
    FileKeys& keys = result.emplace_back();
    keys.file = file.name;
    try {
      const Json root = ReadKeyFile(model_dir, file);
      if (file.name == kConfigFile) {
        family = FamilyOf(root);
        if (family == nullptr) {
          throw StartupError("the model is of no family that is supported");
        }
      }
      keys.entries = EntriesOf(root, file, family);
      if (file.name == kGenerationKeyFile) {
        NoteUnsupported(model_dir, keys.entries);
      }
    } catch (const StartupError& fault) {
      keys.fault = fault.what();
    }
  }
  return result;
}

void CheckModelKeys(const std::filesystem::path& model_dir, std::string_view model_type,
                    bool has_modules, std::span<const IgnoredKey> ignored) {
  const Family* const family = FindFamily(model_type);
  const auto is_ignored = [&](const TableFile& file, const std::string& key) {
    return std::ranges::find(ignored, IgnoredKey{file.name, key}) != ignored.end();
  };
  std::vector<FileKeys> of_flags;
  for (const TableFile& file : FindTableFiles(model_dir, has_modules)) {
    const bool stops_start = file.name != kTokenizerFile && file.name != kGenerationKeyFile;
    const bool is_named = std::ranges::find(ignored, file.name, &IgnoredKey::file) != ignored.end();
    if (!stops_start && !is_named) {
      continue;
    }
    const Json root = ReadKeyFile(model_dir, file);
    if (is_named) {
      FileKeys& keys = of_flags.emplace_back();
      keys.file = file.name;
      keys.entries = EntriesOf(root, file, family);
      if (file.name == kGenerationKeyFile) {
        NoteUnsupported(model_dir, keys.entries);
      }
    }
    if (!stops_start) {
      continue;
    }
    const std::string where = OneLinePath((model_dir / file.name).string());
    ForEachKey(root, *file.keys, family,
               [&](const std::string& path, const Json& value, const KeyRow& row) {
                 const KeyFinding finding = Judge(row, path, value);
                 if (finding.use == KeyUse::kRefused && !is_ignored(file, path)) {
                   Fields(root, where, "").Refuse(path, value, finding.why);
                 }
               });
  }
  for (const IgnoredKey& key : ignored) {
    CheckIgnored(key, of_flags);
  }
}

}  // namespace scorecast::proto
