#include "launcher/cost/pass_share.h"

#include <algorithm>

#include "proto/model/partition.h"

namespace scorecast::launcher {
namespace {

/// Adds a product of `rows` rows with a weight of `numbers` numbers.
void AddProduct(double rows, double numbers, PassShare& share) {
  const double few = std::min<double>(rows, kFewRows);
  share.few_operations += 2 * few * numbers;
  share.more_operations += 2 * (rows - few) * numbers;
}

/// Rows that a layer computes behind its keys and values, summed over all layers. The last layer
/// computes only the rows that are read.
double RowsOfLayers(const proto::ModelConfig& config, const coordinator::PassWork& work) {
  return static_cast<double>((config.num_hidden_layers() - 1) * work.rows + work.reads);
}

}  // namespace

double SentSumNumbers(const proto::ModelConfig& config, const Layout& layout,
                      const coordinator::PassWork& work) {
  if (layout.hosts == 1 || layout.ranks_a_host == 1) {
    return 0;
  }
  // A k-th of the other hosts' rows, each with the summands of k ranks, twice in a layer.
  const double others = 1 - 1.0 / layout.hosts;
  return 2 * RowsOfLayers(config, work) * others * static_cast<double>(config.hidden_size);
}

PassShare ShareOf(const proto::ModelConfig& config, const shard::HeldWeights& weights,
                  const Layout& layout, int rank, const coordinator::PassWork& work) {
  const proto::Partition part = proto::MakePartition(config, rank, layout.ranks());
  const auto h = static_cast<double>(config.hidden_size);
  const auto q = static_cast<double>(part.heads.size() * config.head_dim);
  const auto kv = static_cast<double>(2 * part.kv_heads.size() * config.head_dim);
  const auto i = static_cast<double>(part.intermediate.size());
  const double up = (config.gated_feedforward ? 2 : 1) * i;
  const auto vocabulary = static_cast<double>(part.vocabulary.size());
  const auto layers = static_cast<double>(config.num_hidden_layers());
  const auto rows = static_cast<double>(work.rows);
  const auto reads = static_cast<double>(work.reads);

  PassShare share;
  const double of_rows = q * h + h * q + up * h + h * i;
  share.weight_bytes = layers * (of_rows + kv * h) * static_cast<double>(weights.layer_size) +
                       (reads > 0 ? vocabulary * h * static_cast<double>(weights.lm_head_size) : 0);
  AddProduct(rows, (layers - 1) * of_rows + layers * kv * h, share);
  AddProduct(reads, of_rows + vocabulary * h, share);

  const double computed = RowsOfLayers(config, work);
  // The last layer attends with the rows that are read, which see as many keys as others do.
  const double keys = rows > 0 ? static_cast<double>(work.keys) / rows : 0;
  share.key_numbers = computed * keys * q;
  share.query_numbers = computed * q;

  const bool is_float = weights.precisions.layers == shard::Precision::kFloat32;
  const bool is_int8 = weights.precisions.layers == shard::Precision::kInt8;
  const double own = computed / layout.ranks();
  share.row_numbers = 2 * own * h + (is_float ? 0 : computed * (q + (is_int8 ? i : 0)));
  if (layout.ranks() > 1) {
    // A host's own ranks count one by one, and each other host as one.
    const int parts = layout.ranks_a_host + layout.hosts - 1;
    share.added_numbers = 2 * own * h * parts;
  }
  share.layers = layers;
  return share;
}

}  // namespace scorecast::launcher
