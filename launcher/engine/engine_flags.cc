#include "launcher/engine/engine_flags.h"

#include <algorithm>
#include <vector>

#include "coordinator/request/model_kind.h"
#include "proto/base/check.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/model/model_keys.h"

namespace scorecast::launcher {

using coordinator::DelimiterVisibility;
using coordinator::ItemTokenization;
using shard::CpuFeatures;
using shard::KernelSet;

std::vector<std::string> KernelNames() {
  std::vector<std::string> names = {"auto"};
  for (const KernelSet& set : shard::KernelSets()) {
    names.emplace_back(set.name);
  }
  return names;
}

namespace {

std::string QuotedTexts(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ", ") + proto::Quoted(text, text.size());
  }
  return list.empty() ? "(absent)" : list;
}

}  // namespace

std::string PromptsText(const EngineFlags& flags) { return QuotedTexts(flags.prompts); }

std::string IgnoredKeysText(const EngineFlags& flags) { return QuotedTexts(flags.ignored_keys); }

std::vector<proto::IgnoredKey> IgnoredKeysOf(const EngineFlags& flags) {
  std::vector<proto::IgnoredKey> keys;
  for (const std::string& text : flags.ignored_keys) {
    keys.push_back(proto::IgnoredKeyFromText(text));
  }
  return keys;
}

coordinator::Embedder EmbedderFromFlags(const EngineFlags& flags,
                                        const proto::ModelConfig& config) {
  if (config.is_embedder()) {
    return coordinator::LoadEmbedder(flags.model, flags.prompts);
  }
  if (!flags.prompts.empty()) {
    throw proto::StartupError("--prompt needs an embedding model, and " + config.architecture +
                              " is " +
                              std::string(coordinator::NameOf(coordinator::KindOf(config))));
  }
  return {};
}

void CheckEngineFlags(const EngineFlags& flags) {
  if (flags.server.one_by_one && flags.has_sglang_rules()) {
    throw proto::StartupError(
        "--one-by-one and " +
        std::string(flags.server.enable_mis ? "--enable-mis" : "--multi-item-scoring-delimiter") +
        " contradict each other: the second asks for multi-item mode");
  }
  if (flags.server.delimiter_visibility == DelimiterVisibility::kFirst && flags.delimiter.empty()) {
    throw proto::StartupError(
        "--delimiter-visibility first needs --multi-item-scoring-delimiter: there is no delimiter "
        "to be seen");
  }
  if (flags.server.delimiter_visibility == DelimiterVisibility::kFirst &&
      flags.server.item_tokenization == ItemTokenization::kContinued) {
    throw proto::StartupError(
        "--item-tokenization continued and --delimiter-visibility first contradict each other: the "
        "delimiter then stands between query and item");
  }
}

proto::Task TaskFromFlag(const std::string& task) {
  const auto* const name = std::ranges::find(proto::kTaskNames, task);
  proto::Check(name != proto::kTaskNames.end(), "--task is one of its names");
  return static_cast<proto::Task>(name - proto::kTaskNames.begin());
}

CpuFeatures FeaturesFromFlag(const std::string& kernel, CpuFeatures features) {
  for (const KernelSet& set : shard::KernelSets()) {
    if (set.name != kernel) {
      continue;
    }
    if (!features.Contain(set.needs)) {
      throw proto::StartupError("--kernel " + kernel + ": this CPU has no " +
                                shard::Names(set.needs - features) + "; its best kernels are " +
                                std::string(shard::BestKernelSet(features).name));
    }
    // The first set is for the newest CPUs, so libraries may use all features of these.
    return &set == &shard::KernelSets().front() ? features : set.needs;
  }
  return features;
}

}  // namespace scorecast::launcher
