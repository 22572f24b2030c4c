#include "shard/exchange/row_messages.h"

#include <climits>

#include "proto/base/check.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

int Count(std::int64_t n) {
  proto::Check(0 <= n && n <= INT_MAX, "an MPI message's count fits int");
  return static_cast<int>(n);
}

/// One row as an MPI element, so that counts and offsets are in rows and messages may exceed 2 GiB.
MPI_Datatype RowType(std::int64_t bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(Count(bytes), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

RowMessages::RowMessages(const proto::Communicator& group, const RowSizes& sizes)
    : sizes_(sizes), rank_(group.rank()), ranks_(group.size()) {
  const std::int64_t most_own_rows = (sizes.max_rows + ranks_ - 1) / ranks_;
  proto::Check(most_own_rows <= INT_MAX / ranks_, "the rows of all ranks' slices fit int");
  const auto ranks = static_cast<std::size_t>(ranks_);
  proto::StartupPhase(group, [&] {
    summands_ =
        AlignedBuffer<std::byte>(static_cast<std::size_t>(sizes.max_rows * sizes.summand_bytes));
    shared_rows_ =
        AlignedBuffer<std::byte>(static_cast<std::size_t>(sizes.max_rows * sizes.shared_bytes));
    received_ = AlignedBuffer<std::byte>(
        ranks * static_cast<std::size_t>(most_own_rows * sizes.summand_bytes));
  });
  parts_.resize(ranks, summands_.data());
  send_counts_.resize(ranks);
  send_offsets_.resize(ranks);
  receive_counts_.resize(ranks);
  receive_offsets_.resize(ranks);
  comm_ = group.Duplicate();
  summand_row_ = RowType(sizes.summand_bytes);
}

RowMessages::~RowMessages() {
  for (auto& [bytes, type] : shared_rows_of_) {
    MPI_Type_free(&type);
  }
  MPI_Type_free(&summand_row_);
  MPI_Comm_free(&comm_);
}

void RowMessages::Touch(std::int64_t rows, ThreadPool& pool) {
  const auto touch = [&pool](AlignedBuffer<std::byte>& buffer, std::int64_t bytes) {
    TouchPages(buffer.span().first(static_cast<std::size_t>(bytes)), pool);
  };
  const std::int64_t most_own_rows = (rows + ranks_ - 1) / ranks_;
  touch(summands_, rows * sizes_.summand_bytes);
  touch(shared_rows_, rows * sizes_.shared_bytes);
  touch(received_, ranks_ * most_own_rows * sizes_.summand_bytes);
}

void RowMessages::ExchangeSummands(const RowSlices& owners) {
  const proto::Range own = owners.Of(rank_);
  for (int r = 0; r < ranks_; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const proto::Range slice = owners.Of(r);
    // A rank does not send the summands of its own rows to itself.
    send_counts_[i] = r == rank_ ? 0 : Count(slice.size());
    send_offsets_[i] = Count(slice.begin);
    receive_counts_[i] = r == rank_ ? 0 : Count(own.size());
    receive_offsets_[i] = Count(r * own.size());
    parts_[i] = r == rank_ ? summands_.data() + own.begin * sizes_.summand_bytes
                           : received_.data() + r * own.size() * sizes_.summand_bytes;
  }
  proto::Check(own.size() <= (sizes_.max_rows + ranks_ - 1) / ranks_,
               "no rank owns more rows than its even share of the largest number");
  if (owners.rows() > 0) {
    MPI_Alltoallv(summands_.data(), send_counts_.data(), send_offsets_.data(), summand_row_,
                  received_.data(), receive_counts_.data(), receive_offsets_.data(), summand_row_,
                  comm_);
  }
}

void RowMessages::ShareRows(const RowSlices& owners, std::span<const RowPlane> planes) {
  if (owners.rows() == 0) {
    return;
  }
  for (int r = 0; r < ranks_; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const proto::Range slice = owners.Of(r);
    receive_counts_[i] = Count(slice.size());
    receive_offsets_[i] = Count(slice.begin);
  }
  for (const RowPlane& plane : planes) {
    if (plane.row_bytes > 0) {
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, plane.data, receive_counts_.data(),
                     receive_offsets_.data(), SharedRow(plane.row_bytes), comm_);
    }
  }
}

MPI_Datatype RowMessages::SharedRow(std::int64_t bytes) {
  const auto [type, is_new] = shared_rows_of_.try_emplace(bytes, MPI_DATATYPE_NULL);
  if (is_new) {
    type->second = RowType(bytes);
  }
  return type->second;
}

}  // namespace scorecast::shard
