#include "shard/readout/lm_head.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/slices.h"
#include "shard/readout/draw.h"
#include "shard/readout/partial_logits.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

using proto::PlanRead;
using proto::TokenId;

WeightSource Slice(const TensorView& weight, proto::Range vocabulary) {
  WeightSource source;
  source.in = weight.shape[1];
  source.stored = weight.dtype;
  source.widths = Chunks(vocabulary.size(), kChunkOutputs);
  source.read = [&weight, vocabulary, widths = source.widths](std::int64_t chunk, float* rows) {
    const std::int64_t begin = vocabulary.begin + chunk * kChunkOutputs;
    ReadRows(weight, {begin, begin + widths[static_cast<std::size_t>(chunk)]}, rows);
  };
  return source;
}

/// The k best of logits[0 … n) by IsBetter. logits[0] belongs to `first_id`.
std::vector<std::pair<TokenId, float>> BestOf(const float* logits, std::int64_t n, TokenId first_id,
                                              std::int64_t k) {
  std::vector<std::pair<TokenId, float>> best;  // A heap; its front is the worst of the best.
  const auto is_full = [&] { return static_cast<std::int64_t>(best.size()) == k; };
  best.reserve(static_cast<std::size_t>(k) + 1);
  for (std::int64_t i = 0; i < n && k > 0; ++i) {
    if (is_full() && logits[i] <= best.front().second) {
      continue;  // The common case. Ids ascend, and of equal logits the smaller id is better.
    }
    const std::pair<TokenId, float> entry = {first_id + static_cast<TokenId>(i), logits[i]};
    if (is_full() && !IsBetter(entry, best.front())) {
      continue;
    }
    best.push_back(entry);
    std::push_heap(best.begin(), best.end(), &IsBetter);
    if (static_cast<std::int64_t>(best.size()) > k) {
      std::pop_heap(best.begin(), best.end(), &IsBetter);
      best.pop_back();
    }
  }
  return best;
}

/// Merges the parts of one row, which are in the order of their columns.
PartialLogits Merged(const PlanRead& read, std::span<const PartialLogits> parts) {
  PartialLogits merged;
  for (const PartialLogits& part : parts) {
    MergeNormalizer(part.max, part.sum_exp, merged.max, merged.sum_exp);
    merged.top.insert(merged.top.end(), part.top.begin(), part.top.end());
    if (IsDrawnBefore(part.drawn, merged.drawn)) {
      merged.drawn = part.drawn;
    }
  }
  KeepBest(static_cast<std::size_t>(read.top_k), merged.top);
  return merged;
}

/// Reads that have the same list of labels, and the labels that lie in this rank's slice.
struct LabelReads {
  std::vector<TokenId> ids;
  std::vector<std::size_t> reads;
};

/// Some labels of a list, for some of the list's reads. Reads of one task share the rows that are
/// read from the file.
struct LabelTask {
  const LabelReads* of_list = nullptr;
  std::size_t label = 0;  ///< The first.
  std::size_t read = 0;   ///< The first.
};
constexpr std::size_t kLabelsATask = 16;
constexpr std::size_t kReadsATask = 32;

}  // namespace

LmHead::LmHead(const Kernels& kernels, const Packing& packing, const TensorView& weight,
               proto::Range vocabulary, std::optional<double> softcap, std::vector<float> bias)
    : kernels_(kernels),
      pool_(packing.pool),
      stored_weight_(weight),
      hidden_size_(weight.shape[1]),
      vocabulary_(vocabulary),
      softcap_(softcap),
      slice_(packing.backend, packing.precision, Slice(weight, vocabulary), packing.pool,
             packing.scratch),
      bias_(std::move(bias)),
      input_data_(
          static_cast<std::size_t>(kRowsAtOnce * hidden_size_ * ElementSize(packing.precision))),
      input_{packing.precision, hidden_size_, input_data_.data(), nullptr},
      logits_(static_cast<std::size_t>(kRowsAtOnce * vocabulary.size())),
      thread_row_(static_cast<std::size_t>(pool_.threads()),
                  std::vector<float>(static_cast<std::size_t>(hidden_size_))) {
  proto::Check(packing.precision != Precision::kInt8, "the lm-head is not int8");
}

void LmHead::Touch(std::int64_t reads) {
  const std::int64_t rows = std::min(reads, kRowsAtOnce);
  const auto touch = [&](std::span<std::byte> bytes) {
    TouchPages(bytes.first(bytes.size() / kRowsAtOnce * static_cast<std::size_t>(rows)), pool_);
  };
  touch(input_data_.span());
  touch(std::as_writable_bytes(logits_.span()));
}

std::vector<std::byte> LmHead::ReadOut(const proto::ForwardPlan& plan,
                                       std::span<const std::int32_t> row_of,
                                       Rows<const float> rows) {
  const PartialLogitsLayout layout = LayOutPartialLogits(plan, vocabulary_);
  std::vector<std::byte> out(layout.bytes);
  const Input input = {plan, row_of, rows};
  ReadWithNormalizer(input, layout.offsets, out.data());
  ReadLabels(input, layout.offsets, out.data());
  return out;
}

void LmHead::ReadWithNormalizer(const Input& input, const std::vector<std::size_t>& offsets,
                                std::byte* out) {
  const proto::ForwardPlan& plan = input.plan;
  std::vector<std::size_t> reads;
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    if (plan.reads[i].normalizer) {
      reads.push_back(i);
    }
  }
  const Rows<float> logits = {logits_.data(), vocabulary_.size()};
  for (std::size_t begin = 0; begin < reads.size(); begin += kRowsAtOnce) {
    const auto count =
        static_cast<std::int64_t>(std::min(reads.size() - begin, std::size_t{kRowsAtOnce}));
    pool_.ParallelFor(count, [&](std::int64_t i, int thread) {
      float* row = thread_row_[static_cast<std::size_t>(thread)].data();
      std::copy_n(input.RowOf(reads[begin + static_cast<std::size_t>(i)]), hidden_size_, row);
      input_.Set(kernels_, i, row);
    });
    slice_.Forward(input_, count, pool_, [&](const ProductTile& tile) {
      for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
        float* to = logits[row] + tile.columns.begin;
        std::copy_n(tile.Row(row), tile.columns.size(), to);
        if (!bias_.empty()) {
          kernels_.add(bias_.data() + tile.columns.begin, tile.columns.size(), to);
        }
        SoftCap(tile.columns.size(), to);
      }
    });
    const std::int64_t parts_a_row = (vocabulary_.size() + kColumnsAtOnce - 1) / kColumnsAtOnce;
    std::vector<PartialLogits> parts(static_cast<std::size_t>(count * parts_a_row));
    const auto read_of = [&](std::int64_t i) { return reads[begin + static_cast<std::size_t>(i)]; };
    pool_.ParallelFor(count * parts_a_row, [&](std::int64_t task, int) {
      const std::int64_t i = task / parts_a_row;
      const std::int64_t first = task % parts_a_row * kColumnsAtOnce;
      parts[static_cast<std::size_t>(task)] =
          ReadColumns(plan.reads[read_of(i)],
                      {first, std::min(first + kColumnsAtOnce, vocabulary_.size())}, logits[i]);
    });
    pool_.ParallelFor(count, [&](std::int64_t i, int) {
      const PlanRead& read = plan.reads[read_of(i)];
      const std::span<PartialLogits> of_row = std::span(parts).subspan(
          static_cast<std::size_t>(i * parts_a_row), static_cast<std::size_t>(parts_a_row));
      PartialLogits row_part = Merged(read, of_row);
      for (const TokenId id : plan.label_lists[static_cast<std::size_t>(read.label_list)].ids()) {
        if (vocabulary_.Contains(id)) {
          row_part.label_logits.push_back(logits[i][id - vocabulary_.begin]);
        }
      }
      WritePartialLogits(read, row_part, out + offsets[read_of(i)]);
    });
  }
}

PartialLogits LmHead::ReadColumns(const PlanRead& read, proto::Range columns, float* row) const {
  float* logits = row + columns.begin;
  const std::int64_t n = columns.size();
  if (read.temperature != 1) {
    std::transform(logits, logits + n, logits, [&](float x) { return x / read.temperature; });
  }
  const auto first_id = static_cast<TokenId>(vocabulary_.begin + columns.begin);
  PartialLogits part;
  kernels_.max_and_sum_exp(logits, n, &part.max, &part.sum_exp);
  part.top = BestOf(logits, n, first_id, std::min<std::int64_t>(read.top_k, n));
  if (read.draw) {
    const std::span<const float> all(logits, static_cast<std::size_t>(n));
    part.drawn = std::isfinite(part.sum_exp)
                     ? BestDraw(kernels_, *read.draw, all, first_id)
                     : std::pair(first_id, std::numeric_limits<double>::quiet_NaN());
  }
  return part;
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

void LmHead::SoftCap(std::int64_t n, float* logits) const {
  if (softcap_) {
    kernels_.soft_cap(*softcap_, n, logits);
  }
}

}  // namespace scorecast::shard
