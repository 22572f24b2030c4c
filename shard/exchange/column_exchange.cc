#include "shard/exchange/column_exchange.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <span>

#include "proto/base/check.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {
namespace {

using proto::Range;

constexpr int kColumnsTag = 0;  // MPI keeps messages from one rank to another in order.

/// Bytes that a task reads at once. ChecksumShare hashes reads of this size.
constexpr std::int64_t kTaskBytes = std::int64_t{128} << 10;

int MessageBytes(std::int64_t bytes) {
  proto::Check(0 <= bytes && bytes <= INT_MAX, "an MPI message's size fits int");
  return static_cast<int>(bytes);
}

/// The part of a range that begins `skipped` behind its begin and has at most `size` elements.
Range Slice(Range range, std::int64_t skipped, std::int64_t size) {
  const std::int64_t begin = std::min(range.begin + skipped, range.end);
  return {begin, std::min(begin + size, range.end)};
}

}  // namespace

/// Some rows of each rank's part.
struct ColumnExchange::Piece {
  const TensorView& tensor;
  std::vector<Range> columns;             // [ranks], in bytes of a row
  std::vector<Range> rows;                // [ranks]: those that the rank reads.
  std::vector<std::int64_t> sent_before;  // [ranks]: bytes of a row that are sent to earlier ranks.
  std::int64_t sent_of_row = 0;

  std::int64_t row_bytes() const { return tensor.shape[1] * ItemSize(tensor.dtype); }
};

ColumnExchange::ColumnExchange(const proto::Communicator& group, ThreadPool& pool,
                               std::int64_t piece_bytes)
    : group_(group),
      pool_(pool),
      piece_bytes_(piece_bytes),
      comm_(group.Duplicate()),
      thread_rows_(static_cast<std::size_t>(pool.threads())) {}

ColumnExchange::~ColumnExchange() { MPI_Comm_free(&comm_); }

Range ColumnExchange::RowsReadBy(const TensorView& tensor, int rank, int ranks) {
  const std::int64_t rows = tensor.shape[0];
  return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

ColumnsInMemory ColumnExchange::Read(const ColumnSplit& matrix) {
  const TensorView& tensor = *matrix.tensor;
  const int ranks = group_.size();
  const std::int64_t item = ItemSize(tensor.dtype);
  Piece piece = {.tensor = tensor, .columns = {}, .rows = {}, .sent_before = {}};
  std::int64_t most_rows = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Range columns = matrix.columns[static_cast<std::size_t>(rank)];
    piece.columns.push_back({columns.begin * item, columns.end * item});
    piece.sent_before.push_back(piece.sent_of_row);
    piece.sent_of_row += rank == group_.rank() ? 0 : piece.columns.back().size();
    most_rows = std::max(most_rows, RowsReadBy(tensor, rank, ranks).size());
  }
  const Range own = matrix.columns[static_cast<std::size_t>(group_.rank())];
  ColumnsInMemory columns;
  columns.view = {.dtype = tensor.dtype,
                  .shape = {tensor.shape[0], own.size()},
                  .file = tensor.file,
                  .bytes = tensor.shape[0] * own.size() * item};
  const std::int64_t piece_rows =
      std::max<std::int64_t>(piece_bytes_ / std::max<std::int64_t>(piece.row_bytes(), 1), 1);
  for (std::int64_t begin = 0; begin < most_rows; begin += piece_rows) {
    piece.rows.clear();
    for (int rank = 0; rank < ranks; ++rank) {
      piece.rows.push_back(Slice(RowsReadBy(tensor, rank, ranks), begin, piece_rows));
    }
    proto::StartupPhase(group_, [&] {
      if (begin == 0) {
        columns.bytes = AlignedBuffer<std::byte>(static_cast<std::size_t>(columns.view.bytes));
        columns.view.memory = columns.bytes.data();
      }
      ReadPiece(piece, columns);
    });
    ExchangePiece(piece, columns);
  }
  return columns;
}

void ColumnExchange::ReadPiece(const Piece& piece, ColumnsInMemory& columns) {
  const Range rows = piece.rows[static_cast<std::size_t>(group_.rank())];
  to_send_.resize(static_cast<std::size_t>(rows.size() * piece.sent_of_row));
  const std::int64_t row_bytes = piece.row_bytes();
  const std::int64_t task_rows =
      std::max<std::int64_t>(kTaskBytes / std::max<std::int64_t>(row_bytes, 1), 1);
  pool_.ParallelFor((rows.size() + task_rows - 1) / task_rows, [&](std::int64_t task, int thread) {
    const Range part = Slice(rows, task * task_rows, task_rows);
    std::vector<std::byte>& read = thread_rows_[static_cast<std::size_t>(thread)];
    read.resize(static_cast<std::size_t>(part.size() * row_bytes));
    piece.tensor.file->Read(piece.tensor.offset + part.begin * row_bytes, read);
    for (int rank = 0; rank < group_.size(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const Range cols = piece.columns[r];
      // The first row of the piece in the place that this rank's columns go to.
      std::byte* first = rank == group_.rank()
                             ? columns.bytes.data() + rows.begin * cols.size()
                             : to_send_.data() + rows.size() * piece.sent_before[r];
      for (std::int64_t row = part.begin; row < part.end && !cols.empty(); ++row) {
        std::memcpy(first + (row - rows.begin) * cols.size(),
                    read.data() + (row - part.begin) * row_bytes + cols.begin,
                    static_cast<std::size_t>(cols.size()));
      }
    }
  });
}

void ColumnExchange::ExchangePiece(const Piece& piece, ColumnsInMemory& columns) {
  const int ranks = group_.size();
  const auto own = static_cast<std::size_t>(group_.rank());
  const std::int64_t own_bytes = piece.columns[own].size();
  for (int rank = 0; rank < ranks; ++rank) {
    const Range rows = piece.rows[static_cast<std::size_t>(rank)];
    if (rank != group_.rank()) {
      Receive(columns.bytes.data() + rows.begin * own_bytes, rows.size() * own_bytes, rank);
    }
  }
  // Every rank begins with the next one, so that not all send to the first at once.
  for (int step = 1; step < ranks; ++step) {
    const int rank = (group_.rank() + step) % ranks;
    const auto r = static_cast<std::size_t>(rank);
    Send(to_send_.data() + piece.rows[own].size() * piece.sent_before[r],
         piece.rows[own].size() * piece.columns[r].size(), rank);
  }
  Wait();
}

double ColumnExchange::SecondsToSend(std::int64_t bytes) {
  const int ranks = group_.size();
  const std::int64_t part = bytes / std::max(ranks - 1, 1);
  std::vector<std::byte> sent;
  std::vector<std::byte> received;
  proto::StartupPhase(group_, [&] {
    sent.resize(static_cast<std::size_t>(part));
    received.resize(static_cast<std::size_t>(part * (ranks - 1)));
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int step = 1; step < ranks; ++step) {
    Receive(received.data() + part * (step - 1), part, (group_.rank() + step) % ranks);
  }
  for (int step = 1; step < ranks; ++step) {
    Send(sent.data(), part, (group_.rank() + step) % ranks);
  }
  Wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void ColumnExchange::Send(const std::byte* data, std::int64_t bytes, int rank) {
  if (bytes > 0) {
    MPI_Isend(data, MessageBytes(bytes), MPI_BYTE, rank, kColumnsTag, comm_,
              &requests_.emplace_back(MPI_REQUEST_NULL));
  }
}

void ColumnExchange::Receive(std::byte* data, std::int64_t bytes, int rank) {
  if (bytes > 0) {
    MPI_Irecv(data, MessageBytes(bytes), MPI_BYTE, rank, kColumnsTag, comm_,
              &requests_.emplace_back(MPI_REQUEST_NULL));
  }
}

void ColumnExchange::Wait() {
  if (!requests_.empty()) {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }
}

}  // namespace scorecast::shard
