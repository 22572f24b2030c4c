#include "shard/transformer/lm_head.h"

#include <algorithm>
#include <utility>

#include "shard/checkpoint/slices.h"
#include "shard/transformer/answer.h"

namespace scorecast::shard {
namespace {

using proto::PlanRead;
using proto::TokenId;

AlignedBuffer<float> ReadSlice(const TensorView& weight, proto::Range vocabulary) {
  AlignedBuffer<float> slice(static_cast<std::size_t>(vocabulary.size() * weight.shape[1]));
  ReadRows(weight, vocabulary, slice.data());
  return slice;
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

LmHead::LmHead(const Kernels& kernels, GemmBackend& backend, const TensorView& weight,
               proto::Range vocabulary, int threads)
    : kernels_(kernels),
      mapped_weight_(weight),
      hidden_size_(weight.shape[1]),
      vocabulary_(vocabulary),
      slice_(backend, ReadSlice(weight, vocabulary), vocabulary.size(), hidden_size_),
      input_(static_cast<std::size_t>(kRowsAtOnce * hidden_size_)),
      logits_(static_cast<std::size_t>(kRowsAtOnce * vocabulary.size())),
      label_row_(static_cast<std::size_t>(threads),
                 std::vector<float>(static_cast<std::size_t>(hidden_size_))) {}

std::vector<std::byte> LmHead::Answer(const proto::ForwardPlan& plan, Rows<const float> rows,
                                      ThreadPool& pool) {
  const AnswerLayout layout = LayOutAnswer(plan, vocabulary_);
  std::vector<std::byte> answer(layout.bytes);
  AnswerWithNormalizer(plan, rows, layout.offsets, answer.data(), pool);
  AnswerLabels(plan, rows, layout.offsets, answer.data(), pool);
  return answer;
}

void LmHead::AnswerWithNormalizer(const proto::ForwardPlan& plan, Rows<const float> rows,
                                  const std::vector<std::size_t>& offsets, std::byte* answer,
                                  ThreadPool& pool) {
  std::vector<std::size_t> reads;
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    if (plan.reads[i].normalizer) {
      reads.push_back(i);
    }
  }
  const Rows<float> input = {input_.data(), hidden_size_};
  const Rows<float> logits = {logits_.data(), vocabulary_.size()};
  for (std::size_t begin = 0; begin < reads.size(); begin += kRowsAtOnce) {
    const auto count =
        static_cast<std::int64_t>(std::min(reads.size() - begin, std::size_t{kRowsAtOnce}));
    for (std::int64_t i = 0; i < RoundUpRows(count); ++i) {
      if (i < count) {
        const std::size_t read = reads[begin + static_cast<std::size_t>(i)];
        std::copy_n(rows[static_cast<std::int64_t>(read)], hidden_size_, input[i]);
      } else {
        std::fill_n(input[i], hidden_size_, 0.0F);
      }
    }
    slice_.Forward({input.data, input.stride}, count, logits, pool);
    pool.ParallelFor(count, [&](std::int64_t i, int) {
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

void LmHead::AnswerLabels(const proto::ForwardPlan& plan, Rows<const float> rows,
                          const std::vector<std::size_t>& offsets, std::byte* answer,
                          ThreadPool& pool) {
  pool.ParallelFor(static_cast<std::int64_t>(plan.reads.size()), [&](std::int64_t i, int thread) {
    const PlanRead& read = plan.reads[static_cast<std::size_t>(i)];
    if (read.normalizer) {
      return;
    }
    AnswerPart part;
    float* weight = label_row_[static_cast<std::size_t>(thread)].data();
    for (const TokenId id : plan.label_lists[static_cast<std::size_t>(read.label_list)]) {
      if (vocabulary_.Contains(id)) {
        ReadRows(mapped_weight_, {id, id + 1}, weight);
        part.label_logits.push_back(kernels_.dot(rows[i], weight, hidden_size_));
      }
    }
    WriteAnswerPart(read, part, answer + offsets[static_cast<std::size_t>(i)]);
  });
}

}  // namespace scorecast::shard
