#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "proto/base/range.h"
#include "proto/mpi/communicator.h"
#include "shard/exchange/row_transport.h"

namespace scorecast::shard {

/// Sums of rows over ranks, with the sums' owners in charge (sequence parallelism of Megatron,
/// arXiv 2205.05198). Every rank has summands of all rows. Each row has an owner, which gets all
/// ranks' summands of it, makes a finished row of them, and shares that with all. What the bytes
/// are is the caller's; here they are moved only, so that no row depends on how many there are or
/// on who owns it.
///
///   write summands() of all rows                               ExchangeSummands(owners)
///   of part(0), part(1), … make own rows in shared_rows()      ShareRows(owners, planes)
///   read shared_rows() of all rows
///
/// The two calls are collective with the same `owners` on every rank, are made by the one thread
/// that calls MPI, and take turns, ExchangeSummands first; one of no rows goes before a ShareRows
/// that has no summands. Shared rows lie in planes (data, scales) that the caller lays out. Between
/// ranks on one host nothing is copied: they see each other's memory. So summands() are written
/// only between ShareRows and ExchangeSummands, and shared_rows() only between ExchangeSummands and
/// ShareRows, own rows only.
class RowExchange {
 public:
  enum class Transport {
    kFastest,   ///< Shared memory where all ranks are on one host that has it.
    kMessages,  ///< As between hosts.
  };

  /// What all calls so far have cost this rank.
  struct Cost {
    /// Of other ranks' rows that this rank was given, sent or in place.
    std::int64_t bytes = 0;
    /// Of waiting for other ranks. With messages it is part of `transfer_seconds`: only one more
    /// message between the ranks could tell them apart.
    double wait_seconds = 0;
    double transfer_seconds = 0;  ///< Of sending and receiving.
  };

  /// Collective. Buffers for `max_rows` rows of the given sizes in bytes, which are at most
  /// INT_MAX; pages that are not used cost nothing. Throws StartupError, on every rank, where there
  /// is no memory for them on one.
  RowExchange(const proto::Communicator& group, std::int64_t max_rows,
              std::int64_t summand_row_bytes, std::int64_t shared_row_bytes,
              Transport transport = Transport::kFastest);

  /// This rank's [max_rows][summand_row_bytes], page-aligned.
  std::byte* summands() { return transport_->summands(); }
  /// max_rows · shared_row_bytes, page-aligned.
  std::byte* shared_rows() { return transport_->shared_rows(); }
  const std::byte* shared_rows() const { return transport_->shared_rows(); }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// [0, rows) dealt out as evenly as it goes; a rank may get none.
  RowSlices Even(std::int64_t rows) const;
  /// The rows that this rank owns.
  proto::Range Own(const RowSlices& owners) const { return owners.Of(rank_); }

  /// No rank may own more rows than Even(max_rows) gives the last.
  void ExchangeSummands(const RowSlices& owners);
  /// `rank`'s [own rows][summand_row_bytes] of the last ExchangeSummands, until ShareRows.
  const std::byte* part(int rank) const { return transport_->part(rank); }
  /// Of each plane, row i begins at data + i · row_bytes; planes of no bytes are passed over.
  void ShareRows(const RowSlices& owners, std::span<const RowPlane> planes);

  const Cost& cost() const { return cost_; }
  /// For the log: "one rank", "shared window", or "messages" with the reason why.
  const std::string& Description() const { return description_; }

 private:
  void CheckRows(const RowSlices& owners) const;
  template <typename Call>
  void Timed(const Call& call);

  RowSizes sizes_;
  int rank_;
  int ranks_;
  std::unique_ptr<RowTransport> transport_;
  bool uses_shared_memory_ = false;
  std::string description_;
  bool has_exchanged_ = false;  // Whose turn it is.
  Cost cost_;
};

}  // namespace scorecast::shard
