#include "shard/readout/pooled_readout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::shard {
namespace {

using proto::PlanRead;
using proto::Pooling;

/// Columns that one task pools, so that the sums stay in registers and the first cache.
constexpr std::int64_t kColumnsATask = 128;

}  // namespace

PooledReadout::PooledReadout(const proto::ReadHead& head, std::vector<proto::Range> columns,
                             int rank, const Kernels& kernels, ThreadPool& pool,
                             std::unique_ptr<HeadSteps> steps)
    : pooling_(head.pooling),
      columns_(std::move(columns)),
      rank_(rank),
      hidden_size_(columns_.back().end),
      kernels_(kernels),
      pool_(pool),
      steps_(std::move(steps)) {}

std::int64_t PooledReadout::PoolingsOf(const PlanRead& read) const {
  return read.raw ? 1 : static_cast<std::int64_t>(pooling_.size());
}

std::int64_t PooledReadout::NumbersPerColumn(const proto::ForwardPlan& plan) const {
  std::int64_t numbers = 0;
  for (const PlanRead& read : plan.reads) {
    numbers += PoolingsOf(read);
  }
  return numbers;
}

std::vector<std::size_t> PooledReadout::PartBytes(const proto::ForwardPlan& plan) const {
  const std::int64_t numbers = NumbersPerColumn(plan);
  std::vector<std::size_t> bytes;
  for (const proto::Range& columns : columns_) {
    bytes.push_back(static_cast<std::size_t>(numbers * columns.size()) * sizeof(float));
  }
  return bytes;
}

std::vector<std::byte> PooledReadout::ReadOut(const proto::ForwardPlan& plan,
                                              std::span<const std::int32_t> row_of,
                                              Rows<const float> rows) const {
  const proto::Range own = columns_[static_cast<std::size_t>(rank_)];
  std::vector<std::byte> part(static_cast<std::size_t>(NumbersPerColumn(plan) * own.size()) *
                              sizeof(float));
  std::vector<float*> outs;  // [reads]
  auto* out = reinterpret_cast<float*>(part.data());
  for (const PlanRead& read : plan.reads) {
    proto::Check(read.is_pooled(), "a model with a head for whole texts has pooled reads only");
    outs.push_back(out);
    out += PoolingsOf(read) * own.size();
  }
  const std::int64_t blocks = (own.size() + kColumnsATask - 1) / kColumnsATask;
  const auto reads = static_cast<std::int64_t>(plan.reads.size());
  pool_.ParallelFor(reads * blocks, [&](std::int64_t task, int) {
    const auto index = static_cast<std::size_t>(task / blocks);
    const PlanRead& read = plan.reads[index];
    const std::int64_t first = own.begin + task % blocks * kColumnsATask;
    const proto::Range columns = {first, std::min(first + kColumnsATask, own.end)};
    const proto::Range texts_rows = {row_of[index] - (read.row - read.first_row),
                                     std::int64_t{row_of[index]} + 1};
    for (std::int64_t p = 0; p < PoolingsOf(read); ++p) {
      const Pooling pooling = read.raw ? Pooling::kLast : pooling_[static_cast<std::size_t>(p)];
      const float* before =
          read.pooled.empty() ? nullptr : read.pooled.data() + p * hidden_size_ + first;
      Pool(pooling, rows, texts_rows, columns, before,
           outs[index] + p * own.size() + (first - own.begin));
    }
  });
  return part;
}

void PooledReadout::Pool(Pooling pooling, Rows<const float> rows, proto::Range of_text,
                         proto::Range columns, const float* before, float* out) const {
  const std::int64_t n = columns.size();
  const auto row = [&](std::int64_t index) { return rows[index] + columns.begin; };
  if (pooling == Pooling::kLast) {
    std::copy_n(row(of_text.end - 1), n, out);
    return;
  }
  std::copy_n(before == nullptr ? row(of_text.begin) : before, n, out);
  if (pooling == Pooling::kCls) {
    return;
  }
  for (std::int64_t i = of_text.begin + (before == nullptr ? 1 : 0); i < of_text.end; ++i) {
    const float* added = row(i);
    if (pooling == Pooling::kMean) {
      kernels_.add(added, n, out);
      continue;
    }
    for (std::int64_t column = 0; column < n; ++column) {
      // NaN wins, so that it is noticed.
      const bool wins = added[column] > out[column] || std::isnan(added[column]);
      out[column] = wins ? added[column] : out[column];
    }
  }
}

std::vector<proto::RowLogits> PooledReadout::Merge(const proto::ForwardPlan& plan,
                                                   std::span<const std::byte> parts,
                                                   bool has_classes) {
  std::vector<proto::RowLogits> results(plan.reads.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].embedding.resize(static_cast<std::size_t>(PoolingsOf(plan.reads[i]) * hidden_size_));
  }
  const std::byte* from = parts.data();
  for (const proto::Range& columns : columns_) {
    const std::size_t bytes = static_cast<std::size_t>(columns.size()) * sizeof(float);
    for (std::size_t i = 0; i < results.size() && bytes > 0; ++i) {
      for (std::int64_t p = 0; p < PoolingsOf(plan.reads[i]); ++p, from += bytes) {
        std::memcpy(results[i].embedding.data() + p * hidden_size_ + columns.begin, from, bytes);
      }
    }
  }
  std::vector<HeadSteps::Text> texts;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const PlanRead& read = plan.reads[i];
    if (read.raw || read.goes_on) {
      continue;
    }
    texts.push_back({&results[i].embedding, read.keeps_length});
    const auto count = static_cast<float>(read.rows_before + proto::RowsOfRead(read));
    for (std::size_t p = 0; p < pooling_.size(); ++p) {
      if (pooling_[p] == Pooling::kMean) {
        float* sum = results[i].embedding.data() + static_cast<std::int64_t>(p) * hidden_size_;
        std::for_each_n(sum, hidden_size_, [count](float& x) { x /= count; });
      }
    }
  }
  steps_->Apply(texts);
  for (std::size_t i = 0; i < results.size() && has_classes; ++i) {
    if (!plan.reads[i].raw && !plan.reads[i].goes_on) {
      results[i].label_logits = std::exchange(results[i].embedding, {});
    }
  }
  return results;
}

}  // namespace scorecast::shard
