#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "proto/base/range.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/rank_work.h"
#include "shard/exchange/row_transport.h"
#include "shard/runtime/progress.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Adds up rows over ranks, as sequence parallelism in Megatron does (arXiv 2205.05198). Every rank
/// has summands of all rows. Each row has one owner, which receives all ranks' summands of it,
/// makes a finished row of them, and shares that row with all ranks. The exchange only moves bytes;
/// the caller adds and rounds. So the bits of a row depend neither on the number of rows nor on its
/// owner.
///
///   write summands() of all rows                               ExchangeSummands(owners)
///   make own rows in shared_rows() from part(0), part(1), …    ShareRows(owners, planes)
///   read shared_rows() of all rows
///
/// Both calls are collective, with the same `owners` on every rank, and are made by the thread that
/// calls MPI. They alternate, and ExchangeSummands comes first; if a ShareRows has no summands, an
/// ExchangeSummands of no rows goes before it. The caller divides the shared memory into planes
/// (data, scales).
///
/// Ranks on one host copy nothing: they see each other's memory. Therefore summands() may be
/// written only between ShareRows and ExchangeSummands, and shared_rows() only between
/// ExchangeSummands and ShareRows, and only the rank's own rows.
class RowExchange {
 public:
  enum class Transport {
    kFastest,   ///< Shared memory if all ranks are on one host that has enough of it.
    kMessages,  ///< MPI messages, as between hosts.
  };

  /// Cost of all calls so far on this rank.
  struct Cost {
    std::int64_t bytes = 0;  ///< Bytes of other ranks' rows that were received or read in place.
    /// Time of waiting for other ranks. If rows travel as messages, it is part of
    /// `transfer_seconds`, because telling the two apart would take one more message.
    double wait_seconds = 0;
    double transfer_seconds = 0;  ///< Time of sending and receiving.
  };

  /// Collective. Makes buffers for `max_rows` rows of the given sizes in bytes, which are at most
  /// INT_MAX; a page of them costs nothing until it is used. A rank that is alone may do without
  /// summands: summand_row_bytes is then 0. Throws StartupError, on every rank, if one of them
  /// lacks the memory.
  RowExchange(const proto::Communicator& group, std::int64_t max_rows,
              std::int64_t summand_row_bytes, std::int64_t shared_row_bytes,
              Transport transport = Transport::kFastest);

  /// This rank's summands: [max_rows][summand_row_bytes], page-aligned.
  std::byte* summands() { return transport_->summands(); }
  /// The shared rows: max_rows · shared_row_bytes bytes, page-aligned.
  std::byte* shared_rows() { return transport_->shared_rows(); }

  /// From now on each call is a step of `progress`, which outlives the exchange.
  void ReportTo(Progress& progress) { progress_ = &progress; }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// [0, rows) in slices that differ by one row at most; a rank may get none.
  RowSlices Even(std::int64_t rows) const;
  /// The rows that this rank owns.
  proto::Range Own(const RowSlices& owners) const { return owners.Of(rank_); }

  /// Collective, before the first of the calls below: touches all memory that this rank uses in
  /// exchanges of up to `rows` rows, the other ranks' included, so that they cost no page faults.
  void Touch(std::int64_t rows, ThreadPool& pool);

  /// No rank may own more rows than max_rows / ranks, rounded up.
  void ExchangeSummands(const RowSlices& owners);
  /// The summands of rank `rank` from the last ExchangeSummands: [own rows][summand_row_bytes].
  /// Valid until ShareRows.
  const std::byte* part(int rank) const { return transport_->part(rank); }
  /// In each plane, row i begins at data + i · row_bytes. Planes with row_bytes 0 are skipped.
  void ShareRows(const RowSlices& owners, std::span<const RowPlane> planes);

  const Cost& cost() const { return cost_; }

  /// For the log: "one rank", "shared window", or "messages" with the reason in brackets.
  const std::string& Description() const { return description_; }

 private:
  void CheckRows(const RowSlices& owners) const;
  /// Makes a call in which this rank receives `bytes` bytes of other ranks, and measures its time.
  template <typename Call>
  void Timed(proto::RankOperation operation, std::int64_t bytes, const Call& call);

  RowSizes sizes_;
  int rank_;
  int ranks_;
  std::unique_ptr<RowTransport> transport_;
  bool uses_shared_memory_ = false;
  std::string description_;
  Progress* progress_ = nullptr;
  bool has_exchanged_ = false;  // The next call must be ShareRows.
  Cost cost_;
};

}  // namespace scorecast::shard
