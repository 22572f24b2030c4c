#include "shard/model/weight_slices.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "proto/model/partition.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

/// The rank's part of each tensor that it holds.
std::vector<FilePart> HeldParts(const Checkpoint& checkpoint, const proto::ModelConfig& config,
                                const proto::Partition& partition,
                                std::span<const TensorSpec> tensors) {
  std::vector<FilePart> parts;
  for (const TensorSpec& tensor : tensors) {
    const bool is_held = tensor.storage != Storage::kInFile && tensor.storage != Storage::kUnused;
    if (is_held && (tensor.is_required() || checkpoint.Has(tensor.name))) {
      std::ranges::move(
          PartsOfBlock(Require(checkpoint, tensor, config),
                       StoredRows(tensor, PartOf(tensor.out, config, partition), config),
                       PartOf(tensor.in, config, partition)),
          std::back_inserter(parts));
    }
  }
  return parts;
}

}  // namespace

std::vector<std::vector<FilePart>> WeightSlices(const Checkpoint& checkpoint,
                                                const proto::ModelConfig& config, int rank,
                                                int ranks, ColumnReads reads,
                                                proto::Sharding sharding) {
  const proto::Partition partition = proto::MakePartition(config, rank, ranks, sharding);
  std::vector<std::vector<FilePart>> steps;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers(); ++layer) {
    std::vector<TensorSpec> tensors = LayerTensors(config, layer);
    std::vector<FilePart> exchanged;
    if (reads == ColumnReads::kExchanged) {
      for (const ColumnSplit& split : ColumnSplits(checkpoint, config, layer, ranks, sharding)) {
        std::erase_if(tensors, [&](const TensorSpec& tensor) {
          return tensor.storage == Storage::kLayerProduct &&
                 &Require(checkpoint, tensor, config) == split.tensor;
        });
        std::ranges::move(
            PartsOfBlock(*split.tensor, ColumnExchange::RowsReadBy(*split.tensor, rank, ranks),
                         {0, split.tensor->shape[1]}),
            std::back_inserter(exchanged));
      }
    }
    std::vector<FilePart>& parts =
        steps.emplace_back(HeldParts(checkpoint, config, partition, tensors));
    std::ranges::move(exchanged, std::back_inserter(parts));
  }
  // If the checkpoint has an lm-head although config.json ties the head, only one of the two is
  // read.
  std::vector<TensorSpec> others = ModelTensors(config);
  const std::optional<TensorSpec> head = HeadTensor(checkpoint, config);
  std::erase_if(others, [&](const TensorSpec& tensor) {
    return tensor.storage == Storage::kLmHead && head && tensor.role != head->role;
  });
  steps.push_back(HeldParts(checkpoint, config, partition, others));
  return steps;
}

}  // namespace scorecast::shard
