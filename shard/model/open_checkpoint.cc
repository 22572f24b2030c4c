#include "shard/model/open_checkpoint.h"

#include <set>
#include <string_view>
#include <vector>

#include "proto/base/check.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

/// Beginnings of the names of heads' tensors, which never have the prefix.
constexpr std::string_view kHeadBeginnings[] = {
    "lm_head.", "score.", "classifier.", "pre_classifier.", "vocab_", "cls.", "head.", "decoder."};

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
  if (LacksPrefix(checkpoint, config)) {
    checkpoint.AddPrefix(config.base_prefix, kHeadBeginnings);
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
