#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <mpi.h>

#include "proto/mpi/communicator.h"
#include "shard/exchange/row_slices.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// The messages of a RowExchange between hosts with equally many consecutive ranks. Messages go
/// only between ranks of one lane: those that have the same place among the ranks of their hosts.
/// Many rows are several messages, and no rows are none.
class RowMessages {
 public:
  /// Collective. Throws StartupError, on every rank, if one of them lacks the memory.
  RowMessages(const proto::Communicator& group, int ranks_a_host, const RowSizes& sizes);
  ~RowMessages();
  RowMessages(const RowMessages&) = delete;
  RowMessages& operator=(const RowMessages&) = delete;

  int hosts() const { return hosts_; }
  int own_host() const { return own_host_; }
  /// The rows that this rank's lane has on a host.
  proto::Range OfLane(const RowSlices& owners, int host) const {
    return owners.Of(host * ranks_a_host_ + lane_);
  }

  /// Touches the buffers of exchanges of up to `rows` rows.
  void Touch(std::int64_t rows, ThreadPool& pool);

  // Sums of the rows of one owner, by host: BeginReceiving, then SendSums for each other host, then
  // EndSums.

  /// Begins to receive the other hosts' sums of this rank's own rows.
  void BeginReceiving(const RowSlices& owners);
  /// Room for the sums of a host's rows until EndSums: as many bytes as the rows of summands have.
  std::byte* RoomFor(std::int64_t rows);
  /// Sends sums of `rows` rows, which stay until EndSums, to this lane's rank of another host.
  void SendSums(int host, const std::byte* sums, std::int64_t rows);
  /// Returns when all sums are sent and received.
  void EndSums();
  /// The sums of another host, of own rows only. Valid until the next BeginReceiving.
  const std::byte* sums_of(int host) const { return sums_[static_cast<std::size_t>(host)]; }

  /// Begins to send this rank's own rows to its lane, and to receive the rows of that lane. Several
  /// shares may be under way.
  void BeginShare(const RowSlices& owners, std::span<const RowPlane> planes);
  /// Returns when everything of the share that was begun first is sent and received.
  void EndShare();

  /// Lets the messages that are under way make progress, unless it did so some microseconds ago. A
  /// large message does not leave without such calls.
  void Poll();
  bool AreUnderWay() const { return !of_sums_.empty() || !of_shares_.empty(); }
  /// Time in Poll since the last such call.
  double TakePollSeconds() { return std::exchange(poll_seconds_, 0); }

 private:
  using Requests = std::vector<MPI_Request>;

  int RankOn(int host) const { return host * ranks_a_host_ + lane_; }
  void Send(const std::byte* rows, std::int64_t count, std::int64_t row_bytes, int host,
            Requests& requests);
  void Receive(std::byte* rows, std::int64_t count, std::int64_t row_bytes, int host,
               Requests& requests);
  static void Test(Requests& requests);
  static void Wait(Requests& requests);

  RowSizes sizes_;
  int ranks_;
  int ranks_a_host_;
  int hosts_;
  int own_host_;
  int lane_;
  AlignedBuffer<std::byte> received_;  // Sums of own rows, one host's after the other's.
  AlignedBuffer<std::byte> to_send_;   // Empty if a host's sum is a rank's summands.
  std::int64_t bytes_to_send_ = 0;
  std::vector<const std::byte*> sums_;  // [hosts]
  Requests of_sums_;                    // Those that are under way, as in each of the next.
  std::deque<Requests> of_shares_;      // The first is that of the oldest share.
  double poll_seconds_ = 0;
  double next_poll_ = 0;  // In seconds of MPI_Wtime.
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace scorecast::shard
