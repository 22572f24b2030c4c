#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <mpi.h>

#include "proto/mpi/communicator.h"
#include "shard/exchange/row_transport.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::shard {

/// Rows that travel as MPI messages: for ranks on several hosts.
class RowMessages : public RowTransport {
 public:
  /// Collective. Throws StartupError, on every rank, if one of them lacks the memory.
  RowMessages(const proto::Communicator& group, const RowSizes& sizes);
  ~RowMessages() override;
  RowMessages(const RowMessages&) = delete;
  RowMessages& operator=(const RowMessages&) = delete;

  std::byte* summands() override { return summands_.data(); }
  std::byte* shared_rows() override { return shared_rows_.data(); }
  const std::byte* part(int rank) const override { return parts_[static_cast<std::size_t>(rank)]; }
  void Touch(std::int64_t rows, ThreadPool& pool) override;
  void ExchangeSummands(const RowSlices& owners) override;
  void ShareRows(const RowSlices& owners, std::span<const RowPlane> planes) override;

 private:
  MPI_Datatype SharedRow(std::int64_t bytes);

  RowSizes sizes_;
  int rank_;
  int ranks_;
  AlignedBuffer<std::byte> summands_;
  AlignedBuffer<std::byte> shared_rows_;
  /// Summands of this rank's own rows: [ranks][own rows]. The place for this rank's summands is not
  /// used.
  AlignedBuffer<std::byte> received_;
  std::vector<const std::byte*> parts_;
  std::vector<int> send_counts_, send_offsets_, receive_counts_, receive_offsets_;  // In rows.
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Datatype summand_row_ = MPI_DATATYPE_NULL;
  std::map<std::int64_t, MPI_Datatype> shared_rows_of_;  // The key is the number of bytes of a row.
};

}  // namespace scorecast::shard
