#include "shard/model/open_checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/check.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

/// Beginnings of the names of heads' tensors, which never have the prefix.
constexpr std::string_view kHeadBeginnings[] = {
    "lm_head.", "score.", "classifier.", "pre_classifier.", "vocab_",
    "cls.",     "head.",  "decoder.",    "generator_",      "discriminator_"};

/// Checkpoints that were converted from TensorFlow have its names for what LayerNorms multiply by
/// and add. transformers reads these names, too.
std::string WithoutTensorFlowNames(const std::string& name) {
  constexpr std::string_view kNorm = "LayerNorm.";
  for (const auto& [old_name, new_name] :
       {std::pair<std::string_view, std::string_view>{"gamma", "weight"}, {"beta", "bias"}}) {
    const std::size_t end = name.size() - std::min(name.size(), old_name.size());
    const std::string_view before = std::string_view(name).substr(0, end);
    if (name.ends_with(old_name) && before.ends_with(kNorm)) {
      return std::string(before) + std::string(new_name);
    }
  }
  return name;
}

/// Whether the files have the embedding of tokens only without the prefix of the names.
bool LacksPrefix(const Checkpoint& checkpoint, const proto::ModelConfig& config) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* embedding = FindTensor(tensors, TensorRole::kEmbedding);
  proto::Check(embedding != nullptr, "every model has embeddings of tokens");
  return !checkpoint.Has(embedding->name) &&
         checkpoint.Has(std::string_view(embedding->name).substr(config.base_prefix.size()));
}

}  // namespace

Checkpoint OpenCheckpoint(const std::filesystem::path& model_dir,
                          const proto::ModelConfig& config) {
  Checkpoint checkpoint = Checkpoint::Open(model_dir);
  checkpoint.Rename(WithoutTensorFlowNames);
  if (LacksPrefix(checkpoint, config)) {
    checkpoint.Rename([&](const std::string& name) {
      const bool is_of_head = std::ranges::any_of(
          kHeadBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
      return is_of_head ? name : config.base_prefix + name;
    });
  }
  std::set<std::filesystem::path> files;
  if (config.read_head) {
    for (const proto::HeadStep& step : config.read_head->steps) {
      if (!step.file.empty() && files.insert(step.file).second) {
        checkpoint.AddFile(step.file);
      }
    }
  }
  return checkpoint;
}

}  // namespace scorecast::shard
