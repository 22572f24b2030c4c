#include "shard/readout/lm_head.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/readout/partial_logits.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

using proto::TokenId;

WeightSource Slice(const TensorView& weight, proto::Range vocabulary, bool in_blocks) {
  WeightSource source;
  if (in_blocks) {
    // Of all ranks together: all chunks have the same width, but for the last one.
    const std::vector<std::int64_t> widths = Chunks(weight.shape[0], kChunkOutputs);
    source.other_widths = {widths.front(), widths.back()};
  }
  source.in = weight.shape[1];
  source.stored = weight.dtype;
  source.group = kRangeColumns;
  source.widths = Chunks(vocabulary.size(), kChunkOutputs);
  source.read = [&weight, vocabulary, widths = source.widths](std::int64_t chunk, float* rows) {
    const std::int64_t begin = vocabulary.begin + chunk * kChunkOutputs;
    ReadRows(weight, {begin, begin + widths[static_cast<std::size_t>(chunk)]}, rows);
  };
  return source;
}

/// Reads that have the same list of labels, and the labels that lie in this rank's slice.
struct LabelReads {
  std::vector<TokenId> ids;
  std::vector<std::size_t> reads;
};

/// Some labels of a list, for some of the list's reads. The reads of one task use the same rows of
/// weights, which are read from the file once.
struct LabelTask {
  const LabelReads* of_list = nullptr;
  std::size_t label = 0;  ///< The first label.
  std::size_t read = 0;   ///< The first read.
};
constexpr std::size_t kLabelsATask = 16;
constexpr std::size_t kReadsATask = 32;

}  // namespace

LmHead::LmHead(const Kernels& kernels, const Packing& packing, const TensorView& weight,
               proto::Range vocabulary, std::optional<double> softcap, std::vector<float> bias,
               std::optional<proto::Blocks> blocks)
    : kernels_(kernels),
      pool_(packing.pool),
      stored_weight_(weight),
      hidden_size_(weight.shape[1]),
      vocabulary_(vocabulary),
      blocks_(std::move(blocks)),
      softcap_(softcap),
      slice_(packing.backend, packing.precision, Slice(weight, vocabulary, blocks_.has_value()),
             packing.pool, packing.scratch),
      bias_(std::move(bias)),
      input_data_(
          static_cast<std::size_t>(kReadsAtOnce * hidden_size_ * ElementSize(packing.precision))),
      input_{packing.precision, hidden_size_, input_data_.data(), nullptr},
      ranges_(static_cast<std::size_t>(kReadsAtOnce * Ranges(vocabulary.size()))),
      thread_row_(static_cast<std::size_t>(pool_.threads()),
                  std::vector<float>(static_cast<std::size_t>(hidden_size_))) {
  proto::Check(packing.precision != Precision::kInt8, "the lm-head is not int8");
}

std::int64_t LmHead::Bytes(std::int64_t hidden_size, std::int64_t vocabulary, std::int64_t reads,
                           Precision precision) {
  return std::min(reads, kReadsAtOnce) *
         (hidden_size * ElementSize(precision) +
          Ranges(vocabulary) * static_cast<std::int64_t>(sizeof(RangeNormalizer)));
}

void LmHead::Touch(std::int64_t reads) {
  const std::int64_t touched = std::min(reads, kReadsAtOnce);
  const auto touch = [&](std::span<std::byte> bytes) {
    TouchPages(bytes.first(bytes.size() / kReadsAtOnce * static_cast<std::size_t>(touched)), pool_);
  };
  touch(input_data_.span());
  touch(std::as_writable_bytes(ranges_.span()));
}

std::vector<float> LmHead::RankedTargets(const proto::ForwardPlan& plan,
                                         std::span<const std::int32_t> row_of,
                                         Rows<const float> rows) {
  struct Target {
    std::int64_t column = 0;  ///< Of this rank's slice.
    const float* row = nullptr;
    std::size_t index = 0;  ///< Among the reads that rank their targets.
  };
  std::vector<float> logits;
  std::vector<Target> own;
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    const proto::PlanRead& read = plan.reads[i];
    if (!read.ranks_target) {
      continue;
    }
    if (vocabulary_.Contains(read.target)) {
      own.push_back({read.target - vocabulary_.begin, rows[row_of[i]], logits.size()});
    }
    logits.push_back(0);
  }
  // A product of one chunk has the bits of the whole product.
  std::ranges::stable_sort(own, {}, &Target::column);
  for (std::span<const Target> left = own; !left.empty();) {
    const std::int64_t chunk = slice_.ChunkOf(left.front().column);
    const auto end = std::ranges::find_if(
        left, [&](const Target& target) { return slice_.ChunkOf(target.column) != chunk; });
    const std::int64_t count = std::min<std::int64_t>(end - left.begin(), kReadsAtOnce);
    const auto of_chunk = left.first(static_cast<std::size_t>(count));
    SetInput(count, [&](std::int64_t i) { return of_chunk[static_cast<std::size_t>(i)].row; });
    slice_.Forward(input_, count, {chunk, chunk + 1}, pool_, [&](const ProductTile& tile) {
      for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
        const Target& target = of_chunk[static_cast<std::size_t>(row)];
        if (tile.columns.Contains(target.column)) {
          logits[target.index] = FinishRow(tile, row)[target.column - tile.columns.begin];
        }
      }
    });
    left = left.subspan(of_chunk.size());
  }
  return logits;
}

std::vector<std::byte> LmHead::ReadOut(const proto::ForwardPlan& plan,
                                       std::span<const std::int32_t> row_of, Rows<const float> rows,
                                       std::span<const float> ranked_targets) {
  const PartialLogitsLayout layout =
      LayOutPartialLogits(plan, vocabulary_, blocks_ ? blocks_->size() : 1);
  std::vector<std::byte> out(layout.bytes);
  Input input = {plan, row_of, rows, std::vector<float>(plan.reads.size())};
  auto ranked = ranked_targets.begin();
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    if (plan.reads[i].ranks_target) {
      input.targets[i] = *ranked++;
    }
  }
  ReadWithNormalizer(input, layout.offsets, out.data());
  ReadLabels(input, layout.offsets, out.data());
  return out;
}

void LmHead::ReadWithNormalizer(const Input& input, const std::vector<std::size_t>& offsets,
                                std::byte* out) {
  const proto::ForwardPlan& plan = input.plan;
  std::vector<std::size_t> reads;
  Labels labels;
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    const std::int32_t list = plan.reads[i].label_list;
    if (!plan.reads[i].normalizer) {
      continue;
    }
    reads.push_back(i);
    if (!labels.contains(list)) {
      labels[list] = LabelColumns(plan.label_lists[static_cast<std::size_t>(list)], vocabulary_);
    }
  }
  // Reads of one row stand together, so that its logits are computed once.
  std::ranges::stable_sort(reads, {}, [&](std::size_t read) { return input.row_of[read]; });
  for (std::size_t begin = 0; begin < reads.size(); begin += kReadsAtOnce) {
    const std::size_t count = std::min<std::size_t>(reads.size() - begin, kReadsAtOnce);
    ReadTogether(input, std::span(reads).subspan(begin, count), labels, offsets, out);
  }
}

void LmHead::ReadTogether(const Input& input, std::span<const std::size_t> reads,
                          const Labels& labels, const std::vector<std::size_t>& offsets,
                          std::byte* out) {
  std::deque<ReadAccumulator> accumulators;  // A deque, because they cannot be moved.
  std::vector<std::size_t> first_read;       // [rows + 1]: the first read of each row.
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const proto::PlanRead& read = input.plan.reads[reads[i]];
    accumulators.emplace_back(kernels_, read, vocabulary_, labels.at(read.label_list),
                              ranges_.data() + i, static_cast<std::int64_t>(reads.size()),
                              input.targets[reads[i]]);
    if (i == 0 || input.row_of[reads[i]] != input.row_of[reads[i - 1]]) {
      first_read.push_back(i);
    }
  }
  const auto rows = static_cast<std::int64_t>(first_read.size());
  first_read.push_back(reads.size());
  SetInput(rows, [&](std::int64_t row) {
    return input.RowOf(reads[first_read[static_cast<std::size_t>(row)]]);
  });
  slice_.Forward(input_, rows, pool_, [&](const ProductTile& tile) {
    for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
      const float* logits = FinishRow(tile, row);
      const auto at = static_cast<std::size_t>(row);
      for (std::size_t read = first_read[at]; read < first_read[at + 1]; ++read) {
        accumulators[read].Add(tile.columns, logits);
      }
    }
  });
  pool_.ParallelFor(static_cast<std::int64_t>(reads.size()), [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    WritePartialLogits(input.plan.reads[reads[at]],
                       accumulators[at].Finish(blocks_ ? &*blocks_ : nullptr),
                       out + offsets[reads[at]]);
  });
}

void LmHead::ReadLabels(const Input& input, const std::vector<std::size_t>& offsets,
                        std::byte* out) {
  const proto::ForwardPlan& plan = input.plan;
  std::map<std::int32_t, LabelReads> lists;
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    if (!plan.reads[i].normalizer) {
      lists[plan.reads[i].label_list].reads.push_back(i);
    }
  }
  std::vector<LabelTask> tasks;
  std::vector<PartialLogits> parts(plan.reads.size());
  for (auto& [list, of_list] : lists) {
    for (const TokenId id : plan.label_lists[static_cast<std::size_t>(list)].ids()) {
      if (vocabulary_.Contains(id)) {
        of_list.ids.push_back(id);
      }
    }
    for (const std::size_t read : of_list.reads) {
      parts[read].label_logits.resize(of_list.ids.size());
    }
    for (std::size_t label = 0; label < of_list.ids.size(); label += kLabelsATask) {
      for (std::size_t read = 0; read < of_list.reads.size(); read += kReadsATask) {
        tasks.push_back({&of_list, label, read});
      }
    }
  }
  pool_.ParallelFor(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i, int thread) {
    const LabelTask& task = tasks[static_cast<std::size_t>(i)];
    float* weight = thread_row_[static_cast<std::size_t>(thread)].data();
    const std::vector<TokenId>& ids = task.of_list->ids;
    const std::vector<std::size_t>& reads = task.of_list->reads;
    for (std::size_t label = task.label; label < std::min(task.label + kLabelsATask, ids.size());
         ++label) {
      const TokenId id = ids[label];
      ReadRows(stored_weight_, {id, id + 1}, weight);
      for (std::size_t at = task.read; at < std::min(task.read + kReadsATask, reads.size()); ++at) {
        const float logit = kernels_.dot(input.RowOf(reads[at]), weight, hidden_size_);
        const auto column = static_cast<std::size_t>(id - vocabulary_.begin);
        parts[reads[at]].label_logits[label] = bias_.empty() ? logit : logit + bias_[column];
      }
    }
  });
  pool_.ParallelFor(static_cast<std::int64_t>(plan.reads.size()), [&](std::int64_t i, int) {
    const auto index = static_cast<std::size_t>(i);
    if (!plan.reads[index].normalizer) {
      PartialLogits& part = parts[index];
      SoftCap(static_cast<std::int64_t>(part.label_logits.size()), part.label_logits.data());
      WritePartialLogits(plan.reads[index], part, out + offsets[index]);
    }
  });
}

template <typename RowOf>
void LmHead::SetInput(std::int64_t rows, const RowOf& row_of) {
  pool_.ParallelFor(rows, [&](std::int64_t row, int thread) {
    float* floats = thread_row_[static_cast<std::size_t>(thread)].data();
    std::copy_n(row_of(row), hidden_size_, floats);
    input_.Set(kernels_, row, floats);
  });
}

float* LmHead::FinishRow(const ProductTile& tile, std::int64_t row) const {
  float* logits = tile.Row(row);
  if (!bias_.empty()) {
    kernels_.add(bias_.data() + tile.columns.begin, tile.columns.size(), logits);
  }
  SoftCap(tile.columns.size(), logits);
  return logits;
}

void LmHead::SoftCap(std::int64_t n, float* logits) const {
  if (softcap_) {
    kernels_.soft_cap(*softcap_, n, logits);
  }
}

}  // namespace scorecast::shard
