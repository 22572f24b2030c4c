#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

namespace scorecast::proto {

/// A group of ranks that compute together. Owns its MPI_Comm. Every call is collective, must be
/// made by the one thread that calls MPI, and costs nothing in a group of one. An MPI failure ends
/// the job.
class Communicator {
 public:
  /// All ranks of the job, with their own communicator. Needs an MpiEnvironment.
  static Communicator World();

  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }

  /// Sends rank 0's bytes to all ranks. Every rank must know their number, which may be more than
  /// one MPI message can hold.
  void Broadcast(std::span<std::byte> bytes) const;

  /// Concatenates every rank's bytes on rank 0. `counts` [size] are the numbers of bytes that the
  /// ranks send, and must be the same on every rank. Their sum must fit an `int`, as MPI requires;
  /// otherwise the job ends. `all` is used on rank 0 only.
  void GatherToRoot(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                    std::span<std::byte> all) const;

  /// Every rank's value, on all ranks: [size].
  std::vector<int> AllGather(int value) const;
  int Min(int value) const;
  /// Every rank's text, of any length, on all ranks: [size].
  std::vector<std::string> AllGather(const std::string& text) const;

  /// The ranks of this group that run on this host.
  Communicator OnThisHost() const;
  int RanksOnThisHost() const { return OnThisHost().size(); }
  /// The ranks of this group that give the same number, which is not negative.
  Communicator Split(int number) const;

  /// A communicator of the same ranks, for the messages of one object. The caller frees it.
  MPI_Comm Duplicate() const;

 private:
  explicit Communicator(MPI_Comm comm);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

/// Runs one phase of start-up on every rank. The ranks then agree on whether it succeeded: if it
/// threw on any rank, every rank throws StartupError with the message of the first such rank.
void StartupPhase(const Communicator& group, const std::function<void()>& phase);

}  // namespace scorecast::proto
