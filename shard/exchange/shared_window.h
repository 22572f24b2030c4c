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

/// Memory that the ranks of a group on one host share, and a barrier in it. Its pages are zero at
/// first, and take memory only when they are first used. Once made, the window has no name in any
/// file system, so nothing of it remains, however the ranks end.
class SharedWindow {
 public:
  /// Collective; all ranks must run on one host. Makes `bytes_a_rank` for each rank and
  /// `common_bytes` once, all page-aligned. An error, the same on every rank, says why this host
  /// cannot share so much memory. Throws StartupError, on every rank, if MPI made the window on
  /// some of them only.
  static proto::Expected<std::unique_ptr<SharedWindow>, std::string> Make(
      const proto::Communicator& group, std::size_t bytes_a_rank, std::size_t common_bytes);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  std::byte* of(int rank) const { return bases_[static_cast<std::size_t>(rank)]; }
  std::byte* common() const { return common_; }

  /// Collective. Every rank then sees everything that any rank wrote before.
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
