#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

#include "proto/base/expected.h"
#include "proto/mpi/communicator.h"

namespace scorecast::shard {

/// Memory that the ranks of a group on one host have in common, and a barrier in it. Zeroed pages
/// that are touched only when used. It has no name in a file system once it is made, so that
/// nothing of it stays whatever ends the ranks.
class SharedWindow {
 public:
  /// Collective, of ranks that all run on one host: page-aligned `bytes_a_rank` for each of them,
  /// and `common_bytes` once. An error says why this host has none for so much; it is every rank's.
  /// Throws StartupError, on every rank, where MPI made it on some of them only.
  static proto::Expected<std::unique_ptr<SharedWindow>, std::string> Make(
      const proto::Communicator& group, std::size_t bytes_a_rank, std::size_t common_bytes);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  std::byte* of(int rank) const { return bases_[static_cast<std::size_t>(rank)]; }
  std::byte* common() const { return common_; }

  /// Collective: what any rank wrote before it, every rank reads after it.
  void Barrier();

 private:
  struct Gate;
  SharedWindow(MPI_Comm comm, MPI_Win window);
  void WaitForRound(std::uint32_t round);

  MPI_Comm comm_;
  MPI_Win window_;
  std::vector<std::byte*> bases_;
  std::byte* common_ = nullptr;
  Gate* gate_ = nullptr;  // In the window.
  int most_spins_ = 0;
};

}  // namespace scorecast::shard
