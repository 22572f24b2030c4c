#include "shard/exchange/row_exchange.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <utility>

#include "proto/base/check.h"
#include "proto/base/expected.h"
#include "shard/exchange/row_messages.h"
#include "shard/exchange/shared_window.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

std::span<std::byte> BytesOf(std::byte* data, std::int64_t size) {
  return {data, static_cast<std::size_t>(size)};
}

/// A group of one rank, in which nothing is exchanged.
class OneRank : public RowTransport {
 public:
  explicit OneRank(const RowSizes& sizes)
      : sizes_(sizes),
        summands_(static_cast<std::size_t>(sizes.max_rows * sizes.summand_bytes)),
        shared_rows_(static_cast<std::size_t>(sizes.max_rows * sizes.shared_bytes)) {}

  std::byte* summands() override { return summands_.data(); }
  std::byte* shared_rows() override { return shared_rows_.data(); }
  const std::byte* part(int /*rank*/) const override { return summands_.data(); }
  void Touch(std::int64_t rows, ThreadPool& pool) override {
    TouchPages(BytesOf(summands(), rows * sizes_.summand_bytes), pool);
    TouchPages(BytesOf(shared_rows(), rows * sizes_.shared_bytes), pool);
  }
  void ExchangeSummands(const RowSlices& /*owners*/) override {}
  void ShareRows(const RowSlices& /*owners*/, std::span<const RowPlane> /*planes*/) override {}

 private:
  RowSizes sizes_;
  AlignedBuffer<std::byte> summands_;
  AlignedBuffer<std::byte> shared_rows_;
};

/// Rows in a window: the summands of each rank in pages of its own, and the shared rows once. One
/// barrier in each call is enough. Summands are read between the barriers of ExchangeSummands and
/// ShareRows, and written outside of that time; shared rows are written in that time and read
/// outside of it. So there is always a barrier between one rank's reading and another's writing.
class RowWindow : public RowTransport {
 public:
  RowWindow(std::unique_ptr<SharedWindow> window, int rank, int ranks, const RowSizes& sizes)
      : window_(std::move(window)), rank_(rank), ranks_(ranks), sizes_(sizes) {}

  std::byte* summands() override { return window_->of(rank_); }
  std::byte* shared_rows() override { return window_->common(); }
  const std::byte* part(int rank) const override {
    return window_->of(rank) + first_own_row_ * sizes_.summand_bytes;
  }
  /// The first touch puts a page near the rank that writes it: summands near their rank, and shared
  /// rows near the owners that they have in a pass of `rows` rows. Then each rank reads the rest,
  /// because its own page table has no entry for a page that only others have touched.
  void Touch(std::int64_t rows, ThreadPool& pool) override {
    TouchPages(BytesOf(summands(), rows * sizes_.summand_bytes), pool);
    const std::int64_t shared_bytes = rows * sizes_.shared_bytes;
    const std::int64_t begin = shared_bytes * rank_ / ranks_;
    const std::int64_t end = shared_bytes * (rank_ + 1) / ranks_;
    TouchPagesToRead(BytesOf(shared_rows() + begin, end - begin), pool);
    window_->Barrier();
    for (int rank = 0; rank < ranks_; ++rank) {
      TouchPagesToRead(BytesOf(window_->of(rank), rows * sizes_.summand_bytes), pool);
    }
    TouchPagesToRead(BytesOf(shared_rows(), shared_bytes), pool);
    window_->Barrier();
  }
  void ExchangeSummands(const RowSlices& owners) override {
    first_own_row_ = owners.Of(rank_).begin;
    window_->Barrier();
  }
  void ShareRows(const RowSlices& /*owners*/, std::span<const RowPlane> /*planes*/) override {
    window_->Barrier();
  }

 private:
  std::unique_ptr<SharedWindow> window_;
  int rank_;
  int ranks_;
  RowSizes sizes_;
  std::int64_t first_own_row_ = 0;
};

}  // namespace

RowExchange::RowExchange(const proto::Communicator& group, std::int64_t max_rows,
                         std::int64_t summand_row_bytes, std::int64_t shared_row_bytes,
                         Transport transport)
    : sizes_{max_rows, summand_row_bytes, shared_row_bytes},
      rank_(group.rank()),
      ranks_(group.size()) {
  proto::Check(0 <= max_rows && max_rows <= INT_MAX && 0 <= summand_row_bytes &&
                   summand_row_bytes <= INT_MAX && 0 < shared_row_bytes &&
                   shared_row_bytes <= INT_MAX,
               "rows have bytes, and neither these nor the number of rows exceed INT_MAX");
  proto::Check(ranks_ == 1 || summand_row_bytes > 0, "ranks of a group exchange summands");
  if (ranks_ == 1) {
    transport_ = std::make_unique<OneRank>(sizes_);
    description_ = "one rank";
    return;
  }
  std::string obstacle = "asked for";
  if (transport == Transport::kFastest) {
    obstacle = "several hosts";
    if (group.Min(group.RanksOnThisHost()) == ranks_) {
      auto window =
          SharedWindow::Make(group, static_cast<std::size_t>(max_rows * summand_row_bytes),
                             static_cast<std::size_t>(max_rows * shared_row_bytes));
      if (window) {
        transport_ = std::make_unique<RowWindow>(std::move(*window), rank_, ranks_, sizes_);
        uses_shared_memory_ = true;
        description_ = "shared window";
        return;
      }
      obstacle = window.error();
    }
  }
  transport_ = std::make_unique<RowMessages>(group, sizes_);
  description_ = "messages (" + obstacle + ")";
}

template <typename Call>
void RowExchange::Timed(proto::RankOperation operation, std::int64_t bytes, const Call& call) {
  if (ranks_ == 1) {
    if (progress_ != nullptr) {
      progress_->NextStep();
    }
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  if (progress_ != nullptr) {
    progress_->BeginWait(begin);
  }
  call();
  const auto end = std::chrono::steady_clock::now();
  if (progress_ != nullptr) {
    progress_->EndWait(end, operation, static_cast<std::uint64_t>(bytes));
  }
  const std::chrono::duration<double> took = end - begin;
  (uses_shared_memory_ ? cost_.wait_seconds : cost_.transfer_seconds) += took.count();
  cost_.bytes += bytes;
}

RowSlices RowExchange::Even(std::int64_t rows) const {
  RowSlices slices;
  for (int rank = 0; rank <= ranks_; ++rank) {
    slices.bounds.push_back(rows * rank / ranks_);
  }
  return slices;
}

void RowExchange::CheckRows(const RowSlices& owners) const {
  proto::Check(static_cast<int>(owners.bounds.size()) == ranks_ + 1 && owners.bounds.front() == 0 &&
                   std::ranges::is_sorted(owners.bounds) && owners.rows() <= sizes_.max_rows,
               "every row has one owner, and the rows fit the exchange's buffers");
}

void RowExchange::Touch(std::int64_t rows, ThreadPool& pool) {
  proto::Check(rows <= sizes_.max_rows, "rows that are touched fit the exchange's buffers");
  transport_->Touch(rows, pool);
}

void RowExchange::ExchangeSummands(const RowSlices& owners) {
  proto::Check(!has_exchanged_, "ExchangeSummands and ShareRows alternate");
  CheckRows(owners);
  has_exchanged_ = true;
  Timed(proto::RankOperation::kExchange, (ranks_ - 1) * Own(owners).size() * sizes_.summand_bytes,
        [&] { transport_->ExchangeSummands(owners); });
}

void RowExchange::ShareRows(const RowSlices& owners, std::span<const RowPlane> planes) {
  proto::Check(has_exchanged_, "ExchangeSummands and ShareRows alternate");
  CheckRows(owners);
  has_exchanged_ = false;
  std::int64_t row_bytes = 0;
  for (const RowPlane& plane : planes) {
    row_bytes += plane.row_bytes;
  }
  Timed(proto::RankOperation::kShare, (owners.rows() - Own(owners).size()) * row_bytes,
        [&] { transport_->ShareRows(owners, planes); });
}

}  // namespace scorecast::shard
