#include "shard/transformer/lm_head.h"

#include <algorithm>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/slices.h"
#include "shard/transformer/answer.h"

namespace scorecast::shard {
namespace {

using proto::PlanRead;
using proto::TokenId;

WeightSource Slice(const TensorView& weight, proto::Range vocabulary) {
  WeightSource source;
  source.in = weight.shape[1];
  source.widths = Chunks(vocabulary.size(), kChunkOutputs);
  source.read = [&weight, vocabulary, widths = source.widths](std::int64_t chunk, float* rows) {
    const std::int64_t begin = vocabulary.begin + chunk * kChunkOutputs;
    ReadRows(weight, {begin, begin + widths[static_cast<std::size_t>(chunk)]}, rows);
  };
  return source;
}

/// The k best of logits[0 … n), which belong to ids from `first_id` on.
std::vector<std::pair<TokenId, float>> BestOf(const float* logits, std::int64_t n, TokenId first_id,
                                              std::int64_t k) {
  std::vector<std::pair<TokenId, float>> best;  // A heap whose front is the worst of the best.
  best.reserve(static_cast<std::size_t>(k) + 1);
  for (std::int64_t i = 0; i < n && k > 0; ++i) {
    const std::pair<TokenId, float> entry = {first_id + static_cast<TokenId>(i), logits[i]};
    if (static_cast<std::int64_t>(best.size()) == k && !IsBetter(entry, best.front())) {
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

}  // namespace

LmHead::LmHead(const Kernels& kernels, const Packing& packing, const TensorView& weight,
               proto::Range vocabulary)
    : kernels_(kernels),
      pool_(packing.pool),
      mapped_weight_(weight),
      hidden_size_(weight.shape[1]),
      vocabulary_(vocabulary),
      slice_(packing.backend, packing.precision, Slice(weight, vocabulary), packing.pool,
             packing.scratch),
      input_data_(
          static_cast<std::size_t>(kRowsAtOnce * hidden_size_ * ElementSize(packing.precision))),
      input_{packing.precision, hidden_size_, input_data_.data(), nullptr},
      logits_(static_cast<std::size_t>(kRowsAtOnce * vocabulary.size())),
      thread_row_(static_cast<std::size_t>(pool_.threads()),
                  std::vector<float>(static_cast<std::size_t>(hidden_size_))) {
  proto::Check(packing.precision != Precision::kInt8, "the lm-head is not int8");
}

std::vector<std::byte> LmHead::Answer(const proto::ForwardPlan& plan,
                                      std::span<const std::int32_t> row_of,
                                      Rows<const float> rows) {
  const AnswerLayout layout = LayOutAnswer(plan, vocabulary_);
  std::vector<std::byte> answer(layout.bytes);
  const Input input = {plan, row_of, rows};
  AnswerWithNormalizer(input, layout.offsets, answer.data());
  AnswerLabels(input, layout.offsets, answer.data());
  return answer;
}

void LmHead::AnswerWithNormalizer(const Input& input, const std::vector<std::size_t>& offsets,
                                  std::byte* answer) {
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
        std::copy_n(tile.Row(row), tile.columns.size(), logits[row] + tile.columns.begin);
      }
    });
    pool_.ParallelFor(count, [&](std::int64_t i, int) {
      const std::size_t index = reads[begin + static_cast<std::size_t>(i)];
      const PlanRead& read = plan.reads[index];
      const float* row = logits[i];
      AnswerPart part;
      for (const TokenId id : plan.label_lists[static_cast<std::size_t>(read.label_list)]) {
        if (vocabulary_.Contains(id)) {
          part.label_logits.push_back(row[id - vocabulary_.begin]);
        }
      }
      kernels_.max_and_sum_exp(row, vocabulary_.size(), &part.max, &part.sum_exp);
      part.top = BestOf(row, vocabulary_.size(), static_cast<TokenId>(vocabulary_.begin),
                        std::min<std::int64_t>(read.top_k, vocabulary_.size()));
      WriteAnswerPart(read, part, answer + offsets[index]);
    });
  }
}

void LmHead::AnswerLabels(const Input& input, const std::vector<std::size_t>& offsets,
                          std::byte* answer) {
  const proto::ForwardPlan& plan = input.plan;
  pool_.ParallelFor(static_cast<std::int64_t>(plan.reads.size()), [&](std::int64_t i, int thread) {
    const auto index = static_cast<std::size_t>(i);
    const PlanRead& read = plan.reads[index];
    if (read.normalizer) {
      return;
    }
    AnswerPart part;
    float* weight = thread_row_[static_cast<std::size_t>(thread)].data();
    for (const TokenId id : plan.label_lists[static_cast<std::size_t>(read.label_list)]) {
      if (vocabulary_.Contains(id)) {
        ReadRows(mapped_weight_, {id, id + 1}, weight);
        part.label_logits.push_back(kernels_.dot(input.RowOf(index), weight, hidden_size_));
      }
    }
    WriteAnswerPart(read, part, answer + offsets[index]);
  });
}

}  // namespace scorecast::shard
