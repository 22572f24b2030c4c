#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/segment_attention.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/exchange/row_exchange.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/arithmetic.h"
#include "shard/linear/linear.h"
#include "shard/model/embedding.h"
#include "shard/model/layer.h"
#include "shard/model/norm.h"
#include "shard/model/pass.h"
#include "shard/model/rope_table.h"
#include "shard/model/workspace.h"
#include "shard/readout/lm_head.h"
#include "shard/readout/pooled_readout.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// One rank's share of a transformer. There is one forward pass for all families;
/// ModelConfig has their options.
///
/// Each row of the residual stream is owned by one rank. The owner adds up the ranks' summands of
/// the row, normalises it, and shares the normalised row with all ranks (see RowExchange). The last
/// layer computes keys and values of all rows, and everything else only of the rows that are read.
class Transformer {
 public:
  /// Makes the exchange that a Transformer needs. Collective; called before any rank reads its
  /// weights.
  static RowExchange MakeExchange(const proto::Communicator& group,
                                  const proto::ModelConfig& config, Precision precision,
                                  const proto::PlanLimits& limits, const Kernels& kernels,
                                  ThreadPool& pool, int ranks_a_host = RowExchange::kAsTheyAre,
                                  proto::Sharding sharding = proto::Sharding::kEven);

  /// Takes the layers that LoadLayers has packed with `tiles`, and reads this rank's slices of the
  /// other weights. `checkpoint` must outlive this object, because embedding rows and the labels'
  /// columns of the lm-head are read from it during passes. `exchange` was made by MakeExchange for
  /// the same model, precision, limits and sharding.
  Transformer(const proto::ModelConfig& config, const Checkpoint& checkpoint, RowExchange& exchange,
              Arithmetic& arithmetic, const Kernels& kernels, ThreadPool& pool, TileScratch& tiles,
              const proto::PlanLimits& limits, std::vector<Layer> layers,
              proto::Sharding sharding = proto::Sharding::kEven);

  /// Extends the RoPE tables to positions below `end`. A pass extends them itself if it needs more.
  void ExtendRopeTables(std::int64_t end);

  /// Touches the other memory that plans within proto::TouchedLimits use. Allocates nothing.
  /// Collective; called before the first plan.
  void Touch();

  /// Computes the plan together with the other ranks. Returns this rank's partial logits
  /// (partial_logits.h).
  ///
  /// Ends with CheckWeights. If that throws, the rows that this rank gave to the others may be
  /// wrong, so none of the job's results may be used.
  std::vector<std::byte> Forward(const proto::ForwardPlan& plan);
  /// Bytes of each rank's partial logits: [ranks].
  std::vector<std::size_t> PartialBytes(const proto::ForwardPlan& plan) const;
  /// On rank 0: one RowLogits for each read, of the partial logits of all ranks in rank order.
  std::vector<proto::RowLogits> Merge(const proto::ForwardPlan& plan,
                                      std::span<const std::byte> partial_logits);
  /// Throws FileChanged if a file that passes read was changed after it was opened.
  void CheckWeights() const;

  /// Sums over all passes so far.
  const PhaseTimes& phase_times() const { return times_; }
  const RowExchange& exchange() const { return exchange_; }
  ThreadPool& pool() { return pool_; }

 private:
  /// Divides the buffers among their arrays according to the plan's buckets.
  void LayOut(const proto::ForwardPlan& plan);

  // The steps of a pass. `rows` are those that the step computes.
  /// Embeddings of all rows -> the residual stream of own rows.
  void Embed(const Pass& pass);
  /// All layers. If the pass has two parts, one is computed while the rows of the other travel.
  void ForwardLayers(const Pass& pass);
  /// One stage of a step (proto::PlanStep). The residual stream is that of the text.
  void ForwardStage(const Pass& pass, std::int64_t stage);
  /// Own rows of the residual stream, normalised if `norm` is not empty -> `to`, which all ranks
  /// see when EndShare has returned. Shares end in the order in which they began.
  void BeginShare(const PassRows& rows, const Norm& norm, const Activations& to);
  void EndShare();
  /// Shares rows in normed_.
  void ShareNormed(const PassRows& rows, const Norm& norm);
  /// `input`, which has the rows of `rows` -> some chunks of the QKV product.
  void ProjectChunks(const Pass& pass, const Layer& layer, const PassRows& rows,
                     const Activations& input, proto::Range chunks);
  /// normed_ -> keys and values of the rows `all` in the store, and queries of `rows`, which are
  /// all of them or some.
  void Project(const Pass& pass, const Layer& layer, const PassRows& all, const PassRows& rows);
  /// Queries, and keys and values in the store -> output_input.
  void Attend(const Pass& pass, const Layer& layer, const PassRows& rows);
  /// normed_ -> down_input.
  void FeedForward(const Layer& layer, const PassRows& rows);

  /// The exchange's tree for the sums of output products. See intermediate_tree_ for the others.
  static constexpr std::size_t kHeadTree = 0;
  /// A sum over the ranks that is to be added to the residual stream of own rows, then a bias.
  /// Norms may be empty: `norm` is of the sum before it is added, `residual_norm` of the residual
  /// stream after that.
  struct Sum {
    const PassRows& rows;
    const Linear& product;          ///< Whose summands the ranks add up.
    const BlockActivations& input;  ///< Of the product.
    std::size_t tree;               ///< Of the exchange.
    const std::vector<float>& bias;
    const Norm& norm;
    const Norm& residual_norm;
  };
  Sum OutputSum(const Layer& layer, const PassRows& rows) const;
  Sum DownSum(const Layer& layer, const PassRows& rows) const;
  /// Whether summands of the sum go through the exchange, even those of a single rank.
  bool HasSummands(const Sum& sum) const;
  /// Sends the summands input · productᵀ. One sum may be under way.
  void BeginSum(const Sum& sum);
  /// Waits for the sum that is under way, and adds it.
  void EndSum(const Sum& sum);
  /// The residual stream -> partial logits.
  std::vector<std::byte> ReadOut(const Pass& pass);

  /// Finishes one tile of the QKV product: applies bias, norm and RoPE, then writes queries to the
  /// workspace, and keys and values to the store. Attention may read the store only when the whole
  /// product is done.
  void StoreQkv(const Pass& pass, const Layer& layer, const RowMap& map, const ProductTile& tile);
  /// Writes one tile of a row-sharded product to the exchange, in the precision of the summands:
  /// number `node` of the rank's summands of each row. The product's first row is row number
  /// `first` of the exchange.
  void StoreSummands(std::int64_t first, const ProductTile& tile, int node);
  /// Rounds rows of floats to a product's input.
  void Round(std::int64_t rows, Rows<float> from, const BlockActivations& to);
  /// Calls body(row, thread) for each row of a range.
  template <typename Body>
  void ForEachRow(proto::Range rows, Body body);

  const proto::ModelConfig config_;
  const proto::PlanLimits limits_;
  const proto::Partition partition_;
  const std::size_t intermediate_tree_;        // Of the exchange.
  std::vector<const WeightFile*> files_read_;  // Files that passes read.
  const Kernels& kernels_;
  const RowNorm row_norm_;
  Embedding embedding_;
  ThreadPool& pool_;
  TileScratch& tiles_;

  const ActivationKernels& activation_;

  std::vector<Layer> layers_;
  const Norm final_norm_;          // [h]
  std::optional<LmHead> lm_head_;  // Or pooled_: one of the two.
  std::unique_ptr<PooledReadout> pooled_;
  std::vector<proto::Range> vocabularies_;       // [ranks]
  std::vector<std::int64_t> vocabulary_blocks_;  // [ranks]
  std::vector<RopeTable> rope_tables_;           // One for each of ModelConfig::rope_tables.
  KvStore kv_store_;
  SegmentAttention attention_;
  Workspace work_;
  AlignedBuffer<float> text_;  // [text_rows, h]: residual streams of texts between their steps.
  Pass::Buffers pass_buffers_;
  SummandType summand_type_;
  RowExchange& exchange_;
  Activations normed_;      // [rows, h], in the exchange
  Activations final_rows_;  // [rows read, h], in the exchange: float32
  PhaseTimes times_;
};

template <typename Body>
void Transformer::ForEachRow(proto::Range rows, Body body) {
  constexpr std::int64_t kRowsPerTask = 4;
  pool_.ParallelFor((rows.size() + kRowsPerTask - 1) / kRowsPerTask,
                    [&](std::int64_t task, int thread) {
                      const std::int64_t begin = rows.begin + task * kRowsPerTask;
                      const std::int64_t end = std::min(rows.end, begin + kRowsPerTask);
                      for (std::int64_t row = begin; row < end; ++row) {
                        body(row, thread);
                      }
                    });
}

}  // namespace scorecast::shard
