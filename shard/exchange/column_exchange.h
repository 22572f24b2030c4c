#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "proto/base/range.h"
#include "proto/mpi/communicator.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// A stored matrix of which every rank needs some columns.
struct ColumnSplit {
  const TensorView* tensor = nullptr;
  std::vector<proto::Range> columns;  ///< [ranks]
};

/// One rank's columns of all rows of a matrix, as they are stored.
struct ColumnsInMemory {
  TensorView view;  ///< Of `bytes`: [rows, the rank's columns].
  AlignedBuffer<std::byte> bytes;
};

/// Reads matrices so that each byte is read by one rank: every rank reads an equal part of the
/// rows, as a whole, and sends the others their columns of these rows.
class ColumnExchange {
 public:
  /// Most bytes that a rank reads and sends before the ranks agree to go on, unless a row has more.
  static constexpr std::int64_t kPieceBytes = std::int64_t{16} << 20;

  /// Collective. Both outlive this object.
  ColumnExchange(const proto::Communicator& group, ThreadPool& pool,
                 std::int64_t piece_bytes = kPieceBytes);
  ~ColumnExchange();
  ColumnExchange(const ColumnExchange&) = delete;
  ColumnExchange& operator=(const ColumnExchange&) = delete;

  /// The rows of a matrix that a rank reads.
  static proto::Range RowsReadBy(const TensorView& tensor, int rank, int ranks);

  /// This rank's columns. Collective, with the same matrix on every rank. Throws StartupError, on
  /// every rank, if one of them cannot read its rows or lacks the memory.
  ColumnsInMemory Read(const ColumnSplit& matrix);

  /// The time in which each rank sends `bytes` bytes, evenly to all others. Collective.
  double SecondsToSend(std::int64_t bytes);

 private:
  struct Piece;

  /// Reads this rank's rows of a piece, and puts each rank's columns of them where it is sent from.
  void ReadPiece(const Piece& piece, ColumnsInMemory& columns);
  void ExchangePiece(const Piece& piece, ColumnsInMemory& columns);
  void Send(const std::byte* data, std::int64_t bytes, int rank);
  void Receive(std::byte* data, std::int64_t bytes, int rank);
  void Wait();

  const proto::Communicator& group_;
  ThreadPool& pool_;
  const std::int64_t piece_bytes_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
  std::vector<std::byte> to_send_;  // One rank's columns of a piece after another's.
  std::vector<std::vector<std::byte>> thread_rows_;  // [threads]: rows that a thread has read.
};

}  // namespace scorecast::shard
