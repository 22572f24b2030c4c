#include "shard/model/transformer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/exchange/add_over_ranks.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

using proto::ForwardPlan;
using proto::ModelConfig;
using proto::Range;

static_assert(proto::kVocabularyGrain % kChunkOutputs == 0, "blocks consist of whole chunks");

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

const TensorView& HeadWeight(const Checkpoint& checkpoint, const ModelConfig& config) {
  return Require(checkpoint, HeadTensor(checkpoint, config).value(), config);
}

/// The readout of a model with a ReadHead.
std::unique_ptr<PooledReadout> MakePooledReadout(const ModelConfig& config,
                                                 const Checkpoint& checkpoint,
                                                 const RowExchange& exchange,
                                                 const Kernels& kernels, ThreadPool& pool) {
  std::vector<Range> columns;
  for (int rank = 0; rank < exchange.ranks(); ++rank) {
    columns.push_back(proto::MakePartition(config, rank, exchange.ranks()).columns);
  }
  auto steps = exchange.rank() != 0
                   ? nullptr
                   : std::make_unique<HeadSteps>(*config.read_head, PooledValues(config),
                                                 checkpoint, kernels, pool);
  return std::make_unique<PooledReadout>(*config.read_head, std::move(columns), exchange.rank(),
                                         kernels, pool, std::move(steps));
}

/// This rank's slice of the head's bias; empty if the model has none.
std::vector<float> LoadHeadBias(const ModelConfig& config, const Checkpoint& checkpoint,
                                Range outputs) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* bias = FindTensor(tensors, TensorRole::kLmHeadBias);
  if (bias == nullptr || !checkpoint.Has(bias->name)) {
    return {};
  }
  std::vector<float> slice(static_cast<std::size_t>(outputs.size()));
  ReadRows(Require(checkpoint, *bias, config), outputs, slice.data());
  return slice;
}

std::vector<RopeTable> MakeRopeTables(const ModelConfig& config) {
  std::vector<RopeTable> tables;
  tables.reserve(config.rope_tables.size());
  for (const proto::RopeConfig& rope : config.rope_tables) {
    tables.emplace_back(rope, config.head_dim);
  }
  return tables;
}

/// Summands are rounded to bfloat16 also between ranks on one host, so that the bits do not depend
/// on where the ranks are. In blocks, nodes below those that ranks exchange would have to be
/// rounded, too, so none is.
SummandType SummandTypeOf(int ranks, Precision precision, proto::Sharding sharding) {
  const bool is_rounded =
      ranks > 1 && precision != Precision::kFloat32 && sharding == proto::Sharding::kEven;
  return is_rounded ? SummandType::kBfloat16 : SummandType::kFloat32;
}

/// The exchange's trees over blocks: Transformer::kHeadTree, and then that of the intermediate
/// range. None if ranks are leaves.
std::vector<SumTree> MakeTrees(const ModelConfig& config, int ranks, proto::Sharding sharding) {
  if (sharding == proto::Sharding::kEven) {
    return {};
  }
  std::vector<Range> heads;
  std::vector<Range> intermediate;
  for (int rank = 0; rank < ranks; ++rank) {
    const proto::Partition part = proto::MakePartition(config, rank, ranks, sharding);
    heads.push_back(part.head_blocks.numbers());
    intermediate.push_back(part.intermediate_blocks.numbers());
  }
  return {SumTree::OfBlocks(std::move(heads)), SumTree::OfBlocks(std::move(intermediate))};
}

const ActivationKernels& ActivationOf(const Kernels& kernels, proto::Activation activation) {
  switch (activation) {
    case proto::Activation::kSilu:
      return kernels.silu;
    case proto::Activation::kGelu:
      return kernels.gelu;
    case proto::Activation::kGeluTanh:
      return kernels.gelu_tanh;
    case proto::Activation::kRelu:
      return kernels.relu;
  }
  return kernels.silu;
}

}  // namespace

RowExchange Transformer::MakeExchange(const proto::Communicator& group, const ModelConfig& config,
                                      Precision precision, const proto::PlanLimits& limits,
                                      const Kernels& kernels, ThreadPool& pool, int ranks_a_host,
                                      proto::Sharding sharding) {
  const std::int64_t number_bytes = BytesOf(SummandTypeOf(group.size(), precision, sharding));
  // A product may read a granule behind the rows of the pass, if the last part of the pass does not
  // begin with a granule.
  const RowSizes sizes = {.max_rows = RoundUpRows(limits.max_rows) + kRowGranule,
                          .summand_bytes = UsesSummands(config, group.size() == 1)
                                               ? config.hidden_size * number_bytes
                                               : 0,
                          // At most h floats and a scale.
                          .shared_bytes = (config.hidden_size + 1) * kFloatBytes};
  return {group, sizes, kernels, pool, ranks_a_host, MakeTrees(config, group.size(), sharding)};
}

Transformer::Transformer(const ModelConfig& config, const Checkpoint& checkpoint,
                         RowExchange& exchange, Arithmetic& arithmetic, const Kernels& kernels,
                         ThreadPool& pool, TileScratch& tiles, const proto::PlanLimits& limits,
                         std::vector<Layer> layers, proto::Sharding sharding)
    : config_(config),
      limits_(limits),
      partition_(proto::MakePartition(config, exchange.rank(), exchange.ranks(), sharding)),
      intermediate_tree_(sharding == proto::Sharding::kInBlocks ? kHeadTree + 1 : kHeadTree),
      kernels_(kernels),
      row_norm_(kernels, config_),
      embedding_(config_, checkpoint, kernels, limits),
      pool_(pool),
      tiles_(tiles),
      activation_(ActivationOf(kernels, config.hidden_activation)),
      layers_(std::move(layers)),
      final_norm_(LoadNorm(checkpoint, config, ModelTensors(config), TensorRole::kFinalNorm,
                           TensorRole::kFinalNormBias)),
      rope_tables_(MakeRopeTables(config)),
      kv_store_(arithmetic.attention(), KeptKvOf(config, limits).layers, partition_.kv_heads.size(),
                config.head_dim, KeptKvOf(config, limits).rows, limits.pass_kv_rows),
      attention_(config, partition_, pool.threads()),
      work_(config, partition_, limits, arithmetic.layers(), pool.threads()),
      text_(static_cast<std::size_t>(limits.text_rows * config.hidden_size)),
      pass_buffers_(limits.max_rows),
      summand_type_(SummandTypeOf(exchange.ranks(), arithmetic.layers(), sharding)),
      exchange_(exchange) {
  files_read_ = embedding_.Files();
  if (config.read_head) {
    pooled_ = MakePooledReadout(config, checkpoint, exchange, kernels, pool);
  } else {
    const TensorView& head = HeadWeight(checkpoint, config);
    lm_head_.emplace(
        kernels, Packing{arithmetic.lm_head_backend(), arithmetic.lm_head(), pool, tiles_, kernels},
        head, partition_.vocabulary, config.final_logit_softcapping,
        LoadHeadBias(config, checkpoint, partition_.vocabulary),
        sharding == proto::Sharding::kInBlocks ? std::optional(partition_.vocabulary_blocks)
                                               : std::nullopt);
    if (std::ranges::find(files_read_, head.file) == files_read_.end()) {
      files_read_.push_back(head.file);
    }
    for (int rank = 0; rank < exchange.ranks(); ++rank) {
      const proto::Partition part = proto::MakePartition(config, rank, exchange.ranks(), sharding);
      vocabularies_.push_back(part.vocabulary);
      vocabulary_blocks_.push_back(part.vocabulary_blocks.size());
    }
  }
  normed_ = {arithmetic.layers(), config.hidden_size, exchange_.shared_rows(), nullptr};
  final_rows_ = {Precision::kFloat32, config.hidden_size, exchange_.shared_rows(), nullptr};
}

void Transformer::Touch() {
  const proto::PlanLimits limits = proto::TouchedLimits(limits_);
  work_.Touch(limits, pool_);
  exchange_.Touch(RoundUpRows(limits.max_rows));
  kv_store_.TouchPass(limits.pass_kv_rows, pool_);
  if (lm_head_) {
    lm_head_->Touch(limits.max_reads);
  }
  tiles_.Touch(pool_);
  attention_.Touch(pool_);
}

std::vector<std::byte> Transformer::Forward(const ForwardPlan& plan) {
  proto::CheckBuckets(plan, limits_);
  times_.Begin();
  LayOut(plan);
  const Pass pass(plan, exchange_, config_.bidirectional, pass_buffers_);
  ExtendRopeTables(pass.position_limit());
  kv_store_.Copy(plan.copies, pool_);
  if (plan.step) {
    for (std::int64_t stage = plan.step->begin; stage < plan.step->end; ++stage) {
      ForwardStage(pass, stage);
    }
  } else if (pass.rows() > 0) {  // A plan may have copies only.
    Embed(pass);
    ForwardLayers(pass);
  }
  std::vector<std::byte> partial_logits = ReadOut(pass);
  CheckWeights();
  return partial_logits;
}

std::vector<std::size_t> Transformer::PartialBytes(const ForwardPlan& plan) const {
  if (pooled_) {
    return pooled_->PartBytes(plan);
  }
  std::vector<std::size_t> bytes;
  for (std::size_t rank = 0; rank < vocabularies_.size(); ++rank) {
    bytes.push_back(LayOutPartialLogits(plan, vocabularies_[rank], vocabulary_blocks_[rank]).bytes);
  }
  return bytes;
}

std::vector<proto::RowLogits> Transformer::Merge(const ForwardPlan& plan,
                                                 std::span<const std::byte> partial_logits) {
  return pooled_ ? pooled_->Merge(plan, partial_logits, config_.is_classifier())
                 : MergePartialLogits(plan, vocabularies_, partial_logits, vocabulary_blocks_);
}

void Transformer::CheckWeights() const {
  for (const WeightFile* file : files_read_) {
    file->CheckUnchanged();
  }
}

void Transformer::LayOut(const ForwardPlan& plan) {
  const proto::PlanLimits limits = proto::LimitsOfBuckets(limits_, plan.bucket, plan.read_bucket);
  work_.LayOut(limits);
  if (plan.step) {
    const proto::PlanSegment& text = plan.sequences.front().segments.front();
    const std::int64_t first = std::int64_t{text.kv.first} + text.compute_begin;
    work_.hidden = {text_.data() + first * config_.hidden_size, config_.hidden_size};
  }
  if (normed_.precision == Precision::kInt8) {
    // The scales lie behind the rows, which take up to h floats each: final_rows_ uses the same
    // memory.
    normed_.scales = reinterpret_cast<float*>(
        exchange_.shared_rows() + RoundUpRows(limits.max_rows) * config_.hidden_size * kFloatBytes);
  }
}

void Transformer::ExtendRopeTables(std::int64_t end) {
  for (RopeTable& table : rope_tables_) {
    table.Extend(end);
  }
}

void Transformer::Embed(const Pass& pass) {
  embedding_.Begin(pass.plan(), pass.map());
  for (const PassPart& part : pass.parts()) {
    ForEachRow(exchange_.Own(part.all.owners), [&](std::int64_t row, int thread) {
      embedding_.Embed(row, work_.thread_row[thread], work_.hidden[row]);
    });
  }
  times_.End(Phase::kOther);
  // An exchange comes before a share, but the first layer's norm has no summands.
  exchange_.ExchangeSummands(exchange_.Even(0), summand_type_);
  times_.End(Phase::kCommunication);
}

void Transformer::BeginShare(const PassRows& rows, const Norm& norm, const Activations& to) {
  ForEachRow(exchange_.Own(rows.owners), [&](std::int64_t row, int thread) {
    const float* hidden = work_.hidden[rows.Origin(row)];
    float* shared = work_.thread_row[thread];
    if (norm.empty()) {
      // Copied, because Set may change its input.
      std::copy_n(hidden, config_.hidden_size, shared);
    } else {
      row_norm_(hidden, norm, shared);
    }
    to.Set(kernels_, row, shared);
  });
  times_.End(Phase::kOther);
  const std::array<RowPlane, 2> planes = {
      {{to.data, to.row_bytes()},
       {reinterpret_cast<std::byte*>(to.scales), to.scales == nullptr ? 0 : kFloatBytes}}};
  exchange_.BeginShare(rows.owners, planes);
  times_.End(Phase::kCommunication);
}

void Transformer::EndShare() {
  exchange_.EndShare();
  times_.End(Phase::kCommunication);
}

void Transformer::ShareNormed(const PassRows& rows, const Norm& norm) {
  BeginShare(rows, norm, normed_);
  EndShare();
}

void Transformer::Project(const Pass& pass, const Layer& layer, const PassRows& all,
                          const PassRows& rows) {
  const Activations normed = normed_.From(all.first());
  if (&rows == &all) {
    ProjectChunks(pass, layer, all, normed, {0, layer.qkv.chunks()});
  } else {
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      work_.selected.CopyRow(row, normed_, rows.Origin(rows.first() + row));
    }
    ProjectChunks(pass, layer, all, normed, {layer.query_chunks, layer.qkv.chunks()});
    ProjectChunks(pass, layer, rows, work_.selected, {0, layer.query_chunks});
  }
  times_.End(Phase::kGemm);
}

void Transformer::ProjectChunks(const Pass& pass, const Layer& layer, const PassRows& rows,
                                const Activations& input, Range chunks) {
  layer.qkv.Forward(input, rows.size(), chunks, pool_,
                    [&](const ProductTile& tile) { StoreQkv(pass, layer, rows.map, tile); });
}

void Transformer::StoreQkv(const Pass& pass, const Layer& layer, const RowMap& map,
                           const ProductTile& tile) {
  const RopeTable* rope = rope_tables_.empty() ? nullptr : &rope_tables_[layer.options.rope_table];
  const std::int64_t head_dim = config_.head_dim;
  const std::int64_t first_key = partition_.heads.size() * head_dim;
  const std::int64_t first_value = first_key + partition_.kv_heads.size() * head_dim;
  const bool is_value = tile.columns.begin >= first_value;
  const bool is_key = !is_value && tile.columns.begin >= first_key;
  const std::vector<float>& norm = is_key ? layer.key_norm.weight : layer.query_norm.weight;
  for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
    float* heads = tile.Row(row);
    if (!layer.qkv_bias.empty()) {
      kernels_.add(layer.qkv_bias.data() + tile.columns.begin, tile.columns.size(), heads);
    }
    const RowPlace& place = map.rows()[static_cast<std::size_t>(row)];
    const proto::PlanSegment& segment = pass.plan()
                                            .sequences[static_cast<std::size_t>(place.sequence)]
                                            .segments[static_cast<std::size_t>(place.segment)];
    if ((is_key || is_value) && place.row_in_segment < segment.stored) {
      continue;  // It is stored already, and another sequence may be reading or storing it.
    }
    for (std::int64_t column = tile.columns.begin; column < tile.columns.end;
         column += head_dim, heads += head_dim) {
      if (is_value) {
        kv_store_.WriteValue(
            kv_store_.At(layer.index, (column - first_value) / head_dim, segment.kv),
            place.row_in_segment, heads, place.row_in_segment + 1 == segment.compute_end);
        continue;
      }
      if (!norm.empty()) {
        kernels_.rms_norm(heads, norm.data(), head_dim, static_cast<float>(config_.norm_eps),
                          heads);
      }
      if (rope != nullptr) {
        kernels_.rope(rope->cosine(place.position), rope->sine(place.position), head_dim, heads);
      }
      if (is_key) {
        kv_store_.WriteKey(kv_store_.At(layer.index, (column - first_key) / head_dim, segment.kv),
                           place.row_in_segment, heads);
      } else {
        std::copy_n(heads, head_dim, work_.queries[row] + column);
      }
    }
  }
}

void Transformer::Attend(const Pass& pass, const Layer& layer, const PassRows& rows) {
  attention_.Forward(pass.plan(), rows.map, layer.index, layer.options.sliding_window, kv_store_,
                     {work_.queries.data, work_.queries.stride}, work_.attended, pool_);
  times_.End(Phase::kAttention);
  if (work_.output_input.data != reinterpret_cast<std::byte*>(work_.attended.data)) {
    Round(rows.size(), work_.attended, work_.output_input);
  }
  times_.End(Phase::kOther);
}

void Transformer::FeedForward(const Layer& layer, const PassRows& rows) {
  const Precision precision = work_.down_input.precision;
  // Activates `width` ups of a row, from number `first` on, with as many gates if there are any.
  const auto activate = [&](std::int64_t row, std::int64_t first, std::int64_t width, float* gate,
                            float* up) {
    if (!layer.up_bias.empty()) {
      kernels_.add(layer.up_bias.data() + first, width, up);
    }
    if (!layer.gate_bias.empty()) {
      kernels_.add(layer.gate_bias.data() + first, width, gate);
    }
    float* to = up;  // For bfloat16, which is rounded at once.
    if (precision == Precision::kFloat32) {
      to = reinterpret_cast<float*>(work_.down_input.At(row, first));
    } else if (precision == Precision::kInt8) {
      to = work_.activated[row] + first;
    }
    if (gate != nullptr) {
      activation_.gated(gate, up, width, to);
    } else {
      activation_.plain(up, width, to);
    }
    if (precision == Precision::kBfloat16) {
      kernels_.to_bf16(to, width,
                       reinterpret_cast<std::uint16_t*>(work_.down_input.At(row, first)));
    }
  };
  const Activations normed = normed_.From(rows.first());
  layer.gate_up.Forward(normed, rows.size(), pool_, [&](const ProductTile& tile) {
    for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
      float* next = tile.Row(row);
      if (!config_.gated_feedforward) {
        activate(row, tile.columns.begin, tile.columns.size(), nullptr, next);
        continue;
      }
      const Range all = {tile.columns.begin / 2, tile.columns.end / 2};
      for (std::int64_t first = all.begin; first < all.end; first += kGateBlock) {
        const std::int64_t width = std::min(kGateBlock, all.end - first);
        activate(row, first, width, next, next + width);
        next += 2 * width;
      }
    }
  });
  times_.End(Phase::kGemm);
  if (precision == Precision::kInt8) {
    Round(rows.size(), work_.activated, work_.down_input);
  }
  times_.End(Phase::kOther);
}

std::vector<std::byte> Transformer::ReadOut(const Pass& pass) {
  if (pass.rows_read() > 0) {
    for (const PassPart& part : pass.parts()) {
      BeginShare(pass.Read(part), final_norm_, final_rows_);
    }
    for (std::size_t part = 0; part < pass.parts().size(); ++part) {
      EndShare();
    }
  }
  const Rows<const float> rows = {reinterpret_cast<const float*>(final_rows_.data),
                                  config_.hidden_size};
  std::vector<std::byte> partial_logits;
  if (pooled_) {
    partial_logits = pooled_->ReadOut(pass.plan(), pass.read_index(), rows);
  } else {
    std::vector<float> targets = lm_head_->RankedTargets(pass.plan(), pass.read_index(), rows);
    times_.End(Phase::kGemm);
    // Behind the final rows the shared memory has room for at least a number a row.
    float* behind = reinterpret_cast<float*>(final_rows_.Row(RoundUpRows(pass.rows_read())));
    AddOverRanks(exchange_, config_.hidden_size * BytesOf(summand_type_),
                 {behind, static_cast<std::size_t>(RoundUpRows(limits_.max_rows))}, targets);
    times_.End(Phase::kCommunication);
    partial_logits = lm_head_->ReadOut(pass.plan(), pass.read_index(), rows, targets);
  }
  times_.End(pooled_ ? Phase::kOther : Phase::kGemm);
  return partial_logits;
}

void Transformer::Round(std::int64_t rows, Rows<float> from, const BlockActivations& to) {
  ForEachRow({0, rows}, [&](std::int64_t row, int) { to.Set(kernels_, row, from[row]); });
}

}  // namespace scorecast::shard
