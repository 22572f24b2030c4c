#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proto/base/range.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/rank_work.h"
#include "shard/exchange/host_memory.h"
#include "shard/exchange/row_messages.h"
#include "shard/exchange/row_slices.h"
#include "shard/exchange/sum_parts.h"
#include "shard/exchange/sum_tree.h"
#include "shard/exchange/tree_sum.h"
#include "shard/kernels/kernels.h"
#include "shard/runtime/progress.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Adds up rows over ranks, as sequence parallelism in Megatron does (arXiv 2205.05198). Every rank
/// has summands of all rows. Each row has one owner, which gets the sum of all ranks' summands of
/// it, makes a finished row of it, and shares that row with all ranks. The sum is a fixed tree over
/// the ranks, or over blocks that they hold (SumTree), so its bits depend neither on the number of
/// rows, nor on the owner, nor on which ranks share a host.
///
///   write summands() of all rows                      ExchangeSummands(owners, type)
///   make own rows in shared_rows() by AddSummands     ShareRows(owners, planes)
///   read shared_rows() of all rows
///
/// All calls are collective, with the same arguments on every rank, and are made by the thread that
/// calls MPI. ExchangeSummands and ShareRows of a row alternate, and ExchangeSummands comes first;
/// if a ShareRows has no summands, an ExchangeSummands of no rows goes before it. The caller
/// divides the shared memory into planes (data, scales).
///
/// Each of the two is a Begin and an End. Between them messages are under way, and the caller may
/// compute: the pool's tasks let the messages make progress. So a pass may be divided into parts,
/// whose rows are exchanged in turn: one part is computed while the rows of the other are under way
/// (docs/exchange.md). One exchange of summands may be under way, and several shares, which end in
/// the order in which they began.
///
/// Ranks on one host copy nothing: they see each other's memory. Therefore summands() of a row may
/// be written only between ShareRows and ExchangeSummands of that row, and shared_rows() only
/// between ExchangeSummands and ShareRows, and only the rank's own rows. If every host has equally
/// many consecutive ranks, and their number is a power of two or the trees are over blocks, each
/// row and each host's sum of it crosses the network once: docs/exchange.md. Otherwise every rank
/// counts as a host of its own.
///
/// A rank has one summand of each row if its leaves are a node of the tree, as in a tree over
/// ranks. Otherwise it has one for each node that they consist of.
class RowExchange {
 public:
  /// Ranks share memory if they really are on one host.
  static constexpr int kAsTheyAre = 0;

  /// Cost of all calls so far on this rank.
  struct Cost {
    std::int64_t bytes = 0;  ///< Bytes of other ranks' rows that were received or read in place.
    /// Time of waiting for the ranks of this host. If ranks share no memory, the time of waiting is
    /// part of `transfer_seconds`, because telling the two apart would take one more message.
    double wait_seconds = 0;
    /// Time of sending and receiving, and of adding up what is sent. The time in which messages are
    /// under way while the rank computes is not counted.
    double transfer_seconds = 0;
  };

  /// Collective. Makes buffers for rows of the given sizes, which are at most INT_MAX; a page of
  /// them costs nothing until it is used. A rank that is alone may do without summands:
  /// summand_bytes is then 0. `ranks_a_host` is for tests: as if so many consecutive ranks had a
  /// host of their own. `kernels` and `pool` outlive the exchange. `trees` are trees over blocks;
  /// if there are none, sums are those of SumTree::OfRanks. Throws StartupError, on every rank, if
  /// one of the ranks lacks the memory.
  RowExchange(const proto::Communicator& group, const RowSizes& sizes, const Kernels& kernels,
              ThreadPool& pool, int ranks_a_host = kAsTheyAre, std::vector<SumTree> trees = {});

  /// This rank's summands: [max_rows][most_nodes()][summand_bytes], page-aligned.
  std::byte* summands() { return memory_->summands(lane_); }
  /// Summands of a row for which there is room: the most nodes that a rank or a host has.
  std::int64_t most_nodes() const { return most_nodes_; }
  /// Summands of a row that this rank has in a tree.
  int Nodes(std::size_t tree) const { return parts_[tree].NodesOfRank(lane_); }
  /// The shared rows: max_rows · shared_bytes bytes, page-aligned.
  std::byte* shared_rows() { return memory_->shared_rows(); }

  /// From now on each call is a step of `progress`, which outlives the exchange.
  void ReportTo(Progress& progress) { progress_ = &progress; }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Ranks that share memory. 1 if every rank counts as a host of its own.
  int ranks_a_host() const { return ranks_a_host_; }
  /// Whether rows travel as messages, so that computing meanwhile saves time.
  bool SendsMessages() const { return messages_ != nullptr; }
  /// Slices of `rows` that differ by one row at most; a rank may get none.
  RowSlices Even(proto::Range rows) const;
  RowSlices Even(std::int64_t rows) const { return Even({0, rows}); }
  /// The rows that this rank owns.
  proto::Range Own(const RowSlices& owners) const { return owners.Of(rank_); }

  /// Collective, before the first of the calls below: touches all memory that this rank uses in
  /// exchanges of up to `rows` rows, the other ranks' included, so that they cost no page faults.
  void Touch(std::int64_t rows);

  /// Summands are numbers of `type`, and those of tree number `tree`. No rank may own more rows
  /// than max_rows / ranks, rounded up.
  void BeginExchange(const RowSlices& owners, SummandType type, std::size_t tree = 0);
  void EndExchange();
  void ExchangeSummands(const RowSlices& owners, SummandType type, std::size_t tree = 0) {
    BeginExchange(owners, type, tree);
    EndExchange();
  }
  /// sum[i] += the first numbers of the sum over all ranks of own row number `own_row`, counted
  /// from this rank's first in the last exchange. Any thread may call it, between EndExchange and
  /// the next call of BeginExchange or BeginShare.
  void AddSummands(std::int64_t own_row, std::span<float> sum) const;
  /// In each plane, row i begins at data + i · row_bytes. Planes with row_bytes 0 are skipped.
  void BeginShare(const RowSlices& owners, std::span<const RowPlane> planes);
  void EndShare();
  void ShareRows(const RowSlices& owners, std::span<const RowPlane> planes) {
    BeginShare(owners, planes);
    EndShare();
  }

  const Cost& cost() const { return cost_; }

  /// For the log: "one rank", "shared window", or "messages" with the reason or the hosts in
  /// brackets.
  const std::string& Description() const { return description_; }

 private:
  /// Makes parts_, most_nodes_ and ranks_a_host_. Returns the sizes of rows with so many nodes.
  RowSizes Divide(const std::vector<SumTree>& trees, int ranks_a_host);
  /// Bytes of the summands of a row.
  std::int64_t SummandsStride() const;
  void CheckRows(const RowSlices& owners) const;
  /// Waits for the ranks of this host.
  void Barrier();
  /// Adds up this host's summands of rows that other hosts own, and sends the sums.
  void SendSums(const RowSlices& owners, const SumParts& parts);
  /// The first number of a part: of a rank's summands of row `first_row`, or of the sums that were
  /// received, which begin with that row.
  const std::byte* Place(const SumPart& part, std::int64_t first_row) const;
  /// Bytes of other ranks that ExchangeSummands receives and reads.
  std::int64_t BytesOfSummands(const RowSlices& owners, const SumParts& parts) const;
  /// Makes a call in which this rank gets `bytes` bytes of other ranks, and measures its time.
  template <typename Call>
  void Timed(proto::RankOperation operation, std::int64_t bytes, const Call& call);
  /// Lets messages make progress between the pool's tasks, if any are under way.
  void PollBetweenTasks();

  RowSizes sizes_;  // summand_bytes are those of one node.
  int rank_;
  int ranks_;
  int most_nodes_ = 1;
  int ranks_a_host_ = 1;  // That share memory.
  int lane_ = 0;          // This rank's number among them.
  ThreadPool& pool_;
  const Kernels& kernels_;
  std::unique_ptr<HostMemory> memory_;
  std::unique_ptr<RowMessages> messages_;  // Null if all ranks share memory.
  std::vector<SumParts> parts_;            // [trees]
  TreeSum tree_;
  std::vector<SummandRows> own_parts_;  // What the sums of own rows consist of.
  std::string description_;
  Progress* progress_ = nullptr;
  bool is_exchanging_ = false;
  int shares_ = 0;  // That are under way.
  Cost cost_;
};

}  // namespace scorecast::shard
