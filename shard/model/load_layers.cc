#include "shard/model/load_layers.h"

namespace scorecast::shard {

std::vector<Layer> LoadLayers(const proto::Communicator& group, const proto::ModelConfig& config,
                              const Checkpoint& checkpoint, const Packing& packing,
                              proto::Sharding sharding, ColumnReads reads, ColumnExchange& exchange,
                              const LoadProgress& progress) {
  const proto::Partition partition =
      proto::MakePartition(config, group.rank(), group.size(), sharding);
  std::vector<Layer> layers;
  layers.reserve(config.layers.size());
  for (std::int64_t index = 0; index < config.num_hidden_layers(); ++index) {
    LayerColumns columns;
    if (reads == ColumnReads::kExchanged) {
      for (const ColumnSplit& split :
           ColumnSplits(checkpoint, config, index, group.size(), sharding)) {
        columns.emplace(split.tensor, exchange.Read(split));
      }
    }
    proto::StartupPhase(group, [&] {
      layers.push_back(LoadLayer(checkpoint, config, partition, index, packing, columns));
      progress(index + 1, config.num_hidden_layers());
    });
  }
  return layers;
}

}  // namespace scorecast::shard
